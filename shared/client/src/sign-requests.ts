import {
  domainTypes,
  orderCancellationRequestTypes,
  orderToBody,
  orderTypes,
  type SaltType,
  type SigningDomain,
  saltedDomainTypes,
  type TypedField,
  typedDataDomain,
} from '@makerbook/contracts-evm/typed-data';
import {
  type Hex,
  readAddress,
  readHex,
  readName,
  readUint256,
  readWhole,
  type Uint256,
  type Whole,
} from '@makerbook/contracts-primitives';
import { BaseWallet, concat, keccak256, type Signer, TypedDataEncoder } from 'ethers';
import { type OrderTerms, readTerms, type SignedOrder } from './take-orders.js';

/** The parts of the EIP-712 domain. */
export interface DomainOptions {
  readonly chainId: Whole;
  readonly serviceName: string;
  readonly limitOrderProtocol: string;
}

/** The data to sign, as `eth_signTypedData_v4` takes it. */
export interface TypedData {
  readonly types: Readonly<Record<string, TypedField[]>>;
  readonly primaryType: string;
  readonly domain: Readonly<Record<string, string | number>>;
  readonly message: Readonly<Record<string, unknown>>;
}

export type Structs = Readonly<Record<string, TypedField[]>>;

/** The message that a GET signs. `orderHash` is there if it is about one order. */
export interface ReadMessage {
  readonly issuedAt: bigint;
  readonly orderHash?: Hex;
}

/** Signs orders and requests. @throws WrongValue for a value that cannot be signed as it was meant */
export interface RequestSigner {
  signOrder(order: OrderTerms): Promise<SignedOrder>;
  /** Signs a GET: one struct, named by the key of `structs`. `salt`: 32 bytes, for the domain. */
  signRead(structs: Structs, salt: Hex, message: ReadMessage): Promise<Hex>;
  /** Signs one cancellation. `salt` is the order's own. */
  signCancellation(request: { readonly orderHash: Hex; readonly salt: Uint256 }): Promise<Hex>;
  /** Signs a message in the domain of orders: one struct, named by the key of `structs`. */
  signMessage(structs: Structs, message: TypedData['message']): Promise<Hex>;
}

/** The signing domain, as `/info` and the operator name it. @throws WrongValue */
export function readDomain({ serviceName, chainId, limitOrderProtocol }: DomainOptions) {
  return {
    serviceName: readName('serviceName', serviceName),
    chainId: readWhole('chainId', chainId, { unit: 'the id of a chain', min: 1, max: Number.MAX_SAFE_INTEGER }),
    verifyingContract: readAddress('limitOrderProtocol', limitOrderProtocol),
  };
}

/** @param onSign is called with what is about to be signed, and its EIP-712 digest */
export function createRequestSigner(
  signer: Signer,
  signingDomain: SigningDomain,
  onSign: (data: TypedData, digest: Hex) => void = () => undefined,
): RequestSigner {
  const domain = { ...typedDataDomain(signingDomain), chainId: Number(signingDomain.chainId) };
  // The interface types the salt of a cancellation as uint256. Only a local key can sign that: `signTypedData` of a
  // signer knows only bytes32, which the service takes too.
  const cancellationSalt: SaltType = signer instanceof BaseWallet ? 'uint256' : 'bytes32';

  async function sign(data: TypedData): Promise<{ readonly digest: Hex; readonly signature: Hex }> {
    const digest = digestOf(data);
    onSign(data, digest);
    const { EIP712Domain: _, ...structs } = data.types;
    const signature =
      signer instanceof BaseWallet
        ? signer.signingKey.sign(digest).serialized
        : await signer.signTypedData(data.domain, structs, data.message);
    return { digest, signature: signature as Hex };
  }

  return {
    async signOrder(given) {
      const order = orderToBody(readTerms('order', given));
      const types = { ...domainTypes, ...orderTypes };
      const { digest, signature } = await sign({ types, primaryType: 'Order', domain, message: { ...order } });
      return { order, orderHash: digest, signature };
    },
    async signRead(structs, salt, { issuedAt, ...rest }) {
      const [primaryType = ''] = Object.keys(structs);
      const types = { ...saltedDomainTypes('bytes32'), ...structs };
      const message = { ...rest, issuedAt: readUint256('issuedAt', issuedAt).toString() };
      const salted = { ...domain, salt: readHex('salt', salt, 32) };
      return (await sign({ types, primaryType, domain: salted, message })).signature;
    },
    async signMessage(structs, message) {
      const [primaryType = ''] = Object.keys(structs);
      return (await sign({ types: { ...domainTypes, ...structs }, primaryType, domain, message })).signature;
    },
    async signCancellation(request) {
      const orderHash = readHex('orderHash', request.orderHash, 32);
      const salt = readUint256('salt', request.salt);
      const types = { ...saltedDomainTypes(cancellationSalt), ...orderCancellationRequestTypes };
      const salted = { ...domain, salt: `0x${salt.toString(16).padStart(64, '0')}` };
      const data = { types, primaryType: 'OrderCancellationRequest', domain: salted, message: { orderHash } };
      return (await sign(data)).signature;
    },
  };
}

/** The EIP-712 digest over the given types of the domain. `TypedDataEncoder.hash` would choose the types itself. */
function digestOf({ types: { EIP712Domain = [], ...structs }, domain, message }: TypedData): Hex {
  const separator = TypedDataEncoder.hashStruct('EIP712Domain', { EIP712Domain }, domain);
  return keccak256(concat(['0x1901', separator, TypedDataEncoder.from(structs).hash(message)])) as Hex;
}
