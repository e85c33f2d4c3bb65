import { keccak256 } from '@makerbook/contracts-evm';
import { isSignatureRefusal, parseSignature, recoverAddress } from '@makerbook/signatures';
import type { BenchOrder } from './sign-orders.js';

/** What each of the four hashes of an order is made over: two amounts, the order, the message that is signed. */
const HASHED_BYTES = [96, 96, 256, 66];

/**
 * What no verification of an order can do without: the keccaks over as many bytes as an order's have, and libsecp256k1's
 * recovery of the signer's address. No parsing, no encoding. Answers with the function that does it for all orders.
 */
export function createNativeLimit(orders: readonly BenchOrder[], hash: (order: BenchOrder) => Uint8Array): () => void {
  const proofs = orders.map((order) => {
    const signature = parseSignature(order.signature);
    if (isSignatureRefusal(signature)) throw new Error(`a signature of the bench is no signature: ${signature.code}`);
    return { digest: hash(order), signature, maker: order.order.maker };
  });
  const inputs = HASHED_BYTES.map((length) => new Uint8Array(length).fill(length));
  return () => {
    for (const { digest, signature, maker } of proofs) {
      for (const input of inputs) keccak256(input);
      if (recoverAddress(digest, signature) !== maker) throw new Error('the signer was not recovered');
    }
  };
}

/** CPU of this process, user and system, in microseconds. */
export function measureCpu(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}
