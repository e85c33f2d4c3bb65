import {
  bytesToHex,
  createOrderHasher,
  getLimitOrdersRequestTypes,
  hexToBytes,
  type Order,
  orderCancellationRequestTypes,
  orderTypes,
  type SigningDomain,
  saltedDomainTypes,
  typedDataDomain,
} from '@makerbook/contracts-evm';
import { type Address, type Hex, quantity } from '@makerbook/contracts-primitives';
import { BaseWallet, concat, keccak256, type Signer, TypedDataEncoder } from 'ethers';

/** An order and its signature, as POST takes them (Interface 4.3), with the hash that names it. */
export interface SignedOrder {
  readonly order: {
    readonly salt: Hex;
    readonly nonce: Hex;
    readonly expiresAt: Hex;
    readonly making: { readonly token: Address; readonly amount: Hex };
    readonly taking: { readonly token: Address; readonly amount: Hex };
    readonly maker: Address;
    readonly permittedTaker: Address;
  };
  readonly orderHash: Hex;
  readonly signature: Hex;
}

/** Signs what the service wants signed (Interface 5). */
export interface RequestSigner {
  signOrder(order: Order): Promise<SignedOrder>;
  /** The signature of a GET. `salt`: 32 bytes. */
  signList(request: { readonly issuedAt: bigint; readonly salt: Hex }): Promise<Hex>;
  /** The signature of one cancellation; `salt` is the order's own. */
  signCancellation(request: { readonly orderHash: Hex; readonly salt: bigint }): Promise<Hex>;
}

export function createRequestSigner(signer: Signer, domain: SigningDomain): RequestSigner {
  const hasher = createOrderHasher(domain);
  const base = typedDataDomain(domain);
  return {
    async signOrder(order) {
      return {
        order: {
          salt: quantity(order.salt),
          nonce: quantity(order.nonce),
          expiresAt: quantity(order.expiresAt),
          making: { token: order.making.token, amount: quantity(order.making.amount) },
          taking: { token: order.taking.token, amount: quantity(order.taking.amount) },
          maker: order.maker,
          permittedTaker: order.permittedTaker,
        },
        orderHash: bytesToHex(hasher.hashOrder(order)),
        signature: (await signer.signTypedData(base, orderTypes, order)) as Hex,
      };
    },
    async signList({ issuedAt, salt }) {
      return (await signer.signTypedData({ ...base, salt }, getLimitOrdersRequestTypes, { issuedAt })) as Hex;
    },
    async signCancellation({ orderHash, salt }) {
      if (signer instanceof BaseWallet) {
        // The interface types this salt as uint256, which signTypedData cannot express: hash by hand where the key is available.
        const { EIP712Domain } = saltedDomainTypes('uint256');
        const separator = TypedDataEncoder.hashStruct('EIP712Domain', { EIP712Domain }, { ...base, salt });
        const message = TypedDataEncoder.from(orderCancellationRequestTypes).hash({ orderHash });
        return signer.signingKey.sign(keccak256(concat(['0x1901', separator, message]))).serialized as Hex;
      }
      const padded = `0x${salt.toString(16).padStart(64, '0')}`;
      return (await signer.signTypedData({ ...base, salt: padded }, orderCancellationRequestTypes, {
        orderHash,
      })) as Hex;
    },
  };
}

/** An address or hash in lowercase hex; throws a TypeError when it has another length or is not hex. */
export function lowerHex(text: string, bytes: number): Hex {
  const lower = text.toLowerCase() as Hex;
  if (hexToBytes(lower).length !== bytes) throw new TypeError(`${text} is not hex of ${bytes} bytes`);
  return lower;
}
