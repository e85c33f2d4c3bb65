export { limitOrderProtocolFragments } from './chain-abi.js';
export { decodeSwapCall, isSwapCallRefusal, type SwapCallRefusal } from './decode-swap-call.js';
export { deployArtifacts } from './deploy-artifacts.js';
export {
  encodeSwapCall,
  ROUTE_POOLS_MAX,
  SWAP_CALL_MAX_BYTES,
  type SwapCall,
  type SwapCallV0,
  type SwapCallV1,
  swapSelectors,
  type UnsignedSwapCall,
} from './encode-swap-call.js';
export { eventTopics } from './event-topics.js';
export { createOrderHasher, type OrderHasher } from './hash-order.js';
export { createRequestHashers, type RequestHashers } from './hash-requests.js';
export { createStructHasher, type StructHasher } from './hash-struct.js';
export { createSwapCallHasher, type SwapCallHasher } from './hash-swap-call.js';
export { bytesToHex, decodeHex, hexToBytes } from './hex.js';
export { keccak256 } from './keccak.js';
export {
  cancelAllRequestTypes,
  cancelBySaltRequestTypes,
  cancelKeysRequestTypes,
  DOMAIN_VERSION,
  domainName,
  domainTypes,
  fillCapRequestTypes,
  getAccountRequestTypes,
  getLimitOrderHistoryRequestTypes,
  getLimitOrderRequestTypes,
  getLimitOrdersRequestTypes,
  heartbeatRequestTypes,
  keysRequestTypes,
  navigatorDomainName,
  type Order,
  orderCancellationRequestTypes,
  orderToBody,
  orderTypes,
  quoteV0Types,
  quoteV1Types,
  receiptTypes,
  type SaltType,
  type SigningDomain,
  saltedDomainTypes,
  streamLimitOrdersRequestTypes,
  type TokenAmount,
  type TypedField,
  typedDataDomain,
  typeString,
} from './typed-data.js';
