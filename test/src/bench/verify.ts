import {
  bytesToHex,
  createOrderHasher,
  hexToBytes,
  orderTypes,
  type SigningDomain,
  typedDataDomain,
} from '@makerbook/contracts-evm';
import { isSignatureRefusal, parseSignature, recoverAddress } from '@makerbook/signatures';
import { recoverAddress as recoverWithEthers, TypedDataEncoder } from 'ethers';
import { createNativeLimit, measureCpu } from './native-limit.js';
import { type BenchOptions, compare, type Figure } from './report.js';
import { type BenchOrder, createMakers, createOrderSigner } from './sign-orders.js';

const ORDERS_PER_ROUND = 500;
/** ethers takes some twenty times as long: fewer orders give as long a measurement. */
const ETHERS_ORDERS_PER_ROUND = 50;

/** CPU of verifying one order, in turns in one process: ours as in ingress, that of ethers, and the native limit. */
export async function benchVerify({ isQuick }: BenchOptions): Promise<readonly Figure[]> {
  const rounds = isQuick ? 5 : 40;
  const domain: SigningDomain = {
    serviceName: 'Makerbook',
    chainId: 8217,
    verifyingContract: '0x00000000000000000000000000000000000000aa',
  };
  const [maker] = createMakers(1);
  if (maker === undefined) throw new Error('there is no maker');
  const sign = createOrderSigner(domain, {
    makingToken: '0x0000000000000000000000000000000000000001',
    takingToken: '0x0000000000000000000000000000000000000002',
    expiresAtSeconds: 4_000_000_000,
  });
  const orders = Array.from({ length: ORDERS_PER_ROUND }, () => sign(maker));
  const few = orders.slice(0, ETHERS_ORDERS_PER_ROUND);
  const hasher = createOrderHasher(domain);
  const verifyNatively = createNativeLimit(orders, ({ orderHash }) => hexToBytes(orderHash));

  /** As `verify-orders.ts` of ingress does it: the signature's text, the hash, the signer, the hash as text. */
  const verifyOurs = () => {
    for (const { order, signature: text, orderHash } of orders) {
      const signature = parseSignature(text);
      if (isSignatureRefusal(signature)) throw new Error(signature.code);
      const digest = hasher.hashOrder(order);
      if (recoverAddress(digest, signature) !== order.maker) throw new Error('the signer is another');
      if (bytesToHex(digest) !== orderHash) throw new Error('the hash is another');
    }
  };
  const ethersDomain = typedDataDomain(domain);
  const verifyWithEthers = () => few.forEach(verifyOneWithEthers);
  const verifyOneWithEthers = ({ order, signature, orderHash }: BenchOrder) => {
    const digest = TypedDataEncoder.hash(ethersDomain, orderTypes, order);
    if (digest !== orderHash) throw new Error('the hash is another');
    if (recoverWithEthers(digest, signature).toLowerCase() !== order.maker) throw new Error('the signer is another');
  };

  const measureRound = () => ({
    ours: measureCpu(verifyOurs) / orders.length,
    native: measureCpu(verifyNatively) / orders.length,
    ethers: measureCpu(verifyWithEthers) / few.length,
  });
  for (let warming = 0; warming < 3; warming += 1) measureRound();
  const measured = Array.from({ length: rounds }, measureRound);
  const against = (value: 'ours' | 'ethers') => measured.map((one) => ({ value: one[value], floor: one.native }));
  return [
    compare('verify an order, by the native limit', 'µs of CPU', against('ours'), { ratioMax: 1.25 }),
    compare('the same by ethers', 'µs of CPU', against('ethers')),
  ];
}
