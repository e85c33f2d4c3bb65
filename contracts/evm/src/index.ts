export { deployArtifacts } from './artifacts/index.js';
export {
  erc20Fragments,
  limitOrderProtocolFragments,
  multicall3Fragments,
  wrappedNativeFragments,
} from './chain-abi.js';
export { eventTopics } from './event-topics.js';
export { createOrderHasher, hashDomain, type OrderHasher } from './hash-order.js';
export { createRequestHashers, type RequestHashers } from './hash-requests.js';
export { type Address, bytesToHex, decodeHex, type Hex, hexToBytes, quantityToHex, ZERO_ADDRESS } from './hex.js';
export { keccak256 } from './keccak.js';
export {
  DOMAIN_VERSION,
  domainName,
  domainTypes,
  getLimitOrdersRequestTypes,
  type Order,
  orderCancellationRequestTypes,
  orderTypes,
  type SaltType,
  type SigningDomain,
  saltedDomainTypes,
  type TokenAmount,
  type TypedField,
  typedDataDomain,
} from './typed-data.js';
