import { createOrderHasher, hexToBytes, keccak256, type SigningDomain } from '@makerbook/contracts-evm';
import { parsePlacements, proveSignatures } from '@makerbook/ingress';
import { isSignatureRefusal, parseSignature, recoverAddress } from '@makerbook/signatures';
import { bodyOf, type OrderToPost } from '../kit/sign-orders.js';
import { inGroups } from './place-orders.js';

const PER_REQUEST = 100;
/** Input lengths of the four hashes of an order: two amounts, the order, and the signed message. */
const HASHED_BYTES = [96, 96, 256, 66];
const request = { client: '', charge: async () => undefined };

/** Microseconds of CPU of this process for each order. */
export interface VerifyCost {
  /** The verification of ingress. */
  readonly verify: number;
  /** One recovery of a signer and four keccaks, the least that a verification needs. */
  readonly recover: number;
}

/** Makes the function that measures both with these orders. */
export function createVerifying(domain: SigningDomain, orders: readonly OrderToPost[]): () => Promise<VerifyCost> {
  const parts = { hashOrder: createOrderHasher(domain).hashOrder, nextSlice: async () => undefined };
  const placements = inGroups(orders, PER_REQUEST).map((some) =>
    accepted(parsePlacements(JSON.parse(bodyOf(some).toString()), PER_REQUEST)),
  );
  const verifyAll = async () => {
    for (const some of placements) accepted(await proveSignatures(parts, request, some));
  };
  const proofs = orders.map(({ orderHash, signature: text }) => {
    const signature = parseSignature(text);
    if (isSignatureRefusal(signature)) throw new Error(`a signature of the bench is no signature: ${signature.code}`);
    return { digest: hexToBytes(orderHash), signature };
  });
  const inputs = HASHED_BYTES.map((length) => new Uint8Array(length).fill(length));
  const recoverAll = async () => {
    for (const { digest, signature } of proofs) {
      for (const input of inputs) keccak256(input);
      recoverAddress(digest, signature);
    }
  };
  return async () => ({
    verify: (await measureCpu(verifyAll)) / orders.length,
    recover: (await measureCpu(recoverAll)) / orders.length,
  });
}

/** CPU of this process, user and system, in microseconds. */
export async function measureCpu(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

function accepted<T>(result: readonly T[] | { readonly code: string; readonly detail: string }): readonly T[] {
  if ('code' in result) throw new Error(result.detail);
  return result;
}
