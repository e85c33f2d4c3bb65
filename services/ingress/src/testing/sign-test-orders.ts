import { randomBytes } from 'node:crypto';
import {
  cancelAllRequestTypes,
  cancelBySaltRequestTypes,
  cancelKeysRequestTypes,
  fillCapRequestTypes,
  heartbeatRequestTypes,
  keysRequestTypes,
  orderCancellationRequestTypes,
  orderTypes,
  type SaltType,
  saltedDomainTypes,
  typedDataDomain,
} from '@makerbook/contracts-evm';
import { type Hex, ZERO_ADDRESS } from '@makerbook/contracts-primitives';
import { concat, keccak256, TypedDataEncoder, Wallet } from 'ethers';

export const testDomain = {
  serviceName: 'Test',
  chainId: 8217,
  verifyingContract: '0x00000000000000000000000000000000000000aa',
} as const;

/** An order as a client writes it. */
interface OrderText {
  salt: string;
  nonce: string;
  expiresAt: string;
  making: { token: string; amount: string };
  taking: { token: string; amount: string };
  maker: string;
  permittedTaker: string;
}

export interface SignedOrder {
  order: OrderText;
  signature: string;
}

export const tokenA = '0x00000000000000000000000000000000000000a1';
const tokenB = '0x00000000000000000000000000000000000000b2';

const hex = (value: bigint | number) => `0x${value.toString(16)}`;

/** A well-formed order of the wallet that expires in an hour. The generic encoder of ethers signs it, as the oracle. */
export async function signOrder(wallet: Wallet, terms: Partial<OrderText> = {}): Promise<SignedOrder> {
  const order = {
    salt: `0x${randomBytes(32).toString('hex').replace(/^0+/, '')}`,
    nonce: '0x0',
    expiresAt: hex(Math.floor(Date.now() / 1000) + 3600),
    making: { token: tokenA, amount: hex(1000) },
    taking: { token: tokenB, amount: hex(2000) },
    maker: lower(wallet),
    permittedTaker: ZERO_ADDRESS,
    ...terms,
  };
  return { order, signature: await wallet.signTypedData(typedDataDomain(testDomain), orderTypes, order) };
}

export function hashOf({ order }: SignedOrder): Hex {
  return TypedDataEncoder.hash(typedDataDomain(testDomain), orderTypes, order) as Hex;
}

/** Signs a cancellation in a domain whose salt has this type; ethers itself can only do bytes32. */
export function signCancellation(wallet: Wallet, orderHash: string, salt: string, saltType: SaltType): string {
  const domain = { ...typedDataDomain(testDomain), salt: `0x${salt.slice(2).padStart(64, '0')}` };
  const domainTypes = saltedDomainTypes(saltType);
  const struct = TypedDataEncoder.from(domainTypes).encodeData('EIP712Domain', domain);
  const digest = keccak256(
    concat([
      '0x1901',
      keccak256(struct),
      TypedDataEncoder.hashStruct('OrderCancellationRequest', orderCancellationRequestTypes, { orderHash }),
    ]),
  );
  return wallet.signingKey.sign(digest).serialized;
}

const anyToken = { making: ZERO_ADDRESS, taking: ZERO_ADDRESS };
const exitTypes = {
  cancelAll: cancelAllRequestTypes,
  heartbeat: heartbeatRequestTypes,
  cancelKeys: cancelKeysRequestTypes,
  fillCap: fillCapRequestTypes,
};

/** The body of a request about all orders of the maker; it is issued now, unless the terms say otherwise. */
export async function signExit(what: keyof typeof exitTypes, maker: Wallet, terms: object, signer = maker) {
  const issued = what === 'cancelAll' ? {} : { issuedAtMs: Date.now() };
  const body = { maker: maker.address, ...issued, ...terms };
  const types = 'listKeys' in terms ? keysRequestTypes : exitTypes[what];
  const signature = await signer.signTypedData(typedDataDomain(testDomain), types, { ...anyToken, ...body });
  return { ...body, signature };
}

/** The digest of a body of `signExit`. */
export const hashExit = (what: keyof typeof exitTypes, body: object) =>
  TypedDataEncoder.hash(typedDataDomain(testDomain), exitTypes[what], { ...anyToken, ...body });

/** The body of a request for orders by their salts. */
export async function signSalts(salts: readonly string[], untilMs: number, maker: Wallet, signer = maker) {
  const body = { maker: maker.address, salts, untilMs };
  const signature = await signer.signTypedData(typedDataDomain(testDomain), cancelBySaltRequestTypes, body);
  return { ...body, signature };
}

export const lower = (wallet: Wallet) => wallet.address.toLowerCase() as Hex;
export const newWallet = () => new Wallet(`0x${randomBytes(32).toString('hex')}`);
