import type { OrderCancelled } from '@makerbook/contracts-events';
import { bytesToHex, hexToBytes } from '@makerbook/contracts-evm';
import type { Address, Hex } from '@makerbook/contracts-primitives';
import { type CancelledHash, cancelledFact, type FoundHash, UNKNOWN_EXPIRY_SECONDS } from '@makerbook/domain';
import { type ApiRequest, isRefusal, type Refusal, unavailable } from '@makerbook/http';
import { partitionOf } from '@makerbook/kafka';
import { describeSignatureRefusal, isSignatureRefusal, recoverAddress } from '@makerbook/signatures';
import { cancelBudgetOf, type Makers } from '@makerbook/whitelist';
import type { AskedCancellation, AskedCancellations } from '../parse/parse-cancellations.js';
import type { Parts } from '../parts.js';
import { askAbout, type Doubt } from './ask-about.js';
import { SIGNATURES_PER_SLICE } from './yield-slices.js';

/** The facts to append, keyed by order hash. */
export type ToCancel = ReadonlyMap<Hex, OrderCancelled>;

/** The orders of the facts, in the form that the domain takes. */
export function cancelledHashes(
  { settings, makers }: Pick<Parts, 'settings' | 'makers'>,
  toCancel: ToCancel,
): CancelledHash[] {
  return [...toCancel].map(([orderHash, { maker }]) => {
    const budget = cancelBudgetOf(settings, makers.limitsOf(maker));
    return { orderHash, maker, partition: partitionOf(maker, settings.PARTITIONS), budget };
  });
}

const saltTypes = ['uint256', 'bytes32'] as const;

export interface Proven {
  /** Cancellations of known orders. */
  readonly toCancel: ToCancel;
  /** Cancellations of hashes that nobody has placed, as far as known. */
  readonly unplaced: ToCancel;
  /** Hashes about which nothing is known. They cannot be cancelled without their salt, or by a contract. */
  readonly unsure: readonly Hex[];
}

export type ProvingParts = Pick<Parts, 'hashCancellation' | 'askWallets' | 'nextSlice' | 'makers'>;

/** Refuses the first signature that is not the maker's, if any. @param isExit true if nothing is placed instead */
export async function proveCancellations(
  { hashCancellation, askWallets, nextSlice, makers }: ProvingParts,
  { cancellations, signatureAt }: AskedCancellations,
  known: ReadonlyMap<Hex, FoundHash>,
  request: ApiRequest,
  isExit: boolean,
): Promise<Proven | Refusal> {
  const { requestId } = request;
  const toCancel = new Map<Hex, OrderCancelled>();
  const unplaced = new Map<Hex, OrderCancelled>();
  const unsure = new Set<Hex>();
  const doubts: Doubt[] = [];
  for (const [index, cancellation] of cancellations.entries()) {
    if (cancellations.length > SIGNATURES_PER_SLICE && index % SIGNATURES_PER_SLICE === 0) await nextSlice();
    const { orderHash } = cancellation;
    const order = known.get(orderHash);
    if (order?.state !== 'FOUND' && order?.state !== 'UNSURE') continue;
    const found = order.state === 'FOUND' ? order : undefined;
    const salt = cancellation.salt ?? found?.salt;
    if (salt === undefined || (found === undefined && !makers.isCaughtUp())) {
      unsure.add(orderHash);
      continue;
    }
    const makerOf = (signer: Address) => makerFor(makers, signer, found?.maker);
    const proof = proveCancellation({ hashCancellation }, cancellation, salt, makerOf);
    const maker = 'maker' in proof ? proof.maker : found?.maker;
    // It is unknown whether the order is the signer's own, or of a maker whose key signed.
    if (found === undefined && maker !== undefined && makers.isCancelKey(maker)) {
      unsure.add(orderHash);
      continue;
    }
    if ('fault' in proof) {
      if (!makers.isCaughtUp()) return unavailable('the whitelist with the cancel keys is still being read');
      if (askWallets === undefined) return refuseSignature(cancellation.salt, proof.fault, index, signatureAt);
      if (maker !== undefined) doubts.push({ ...proof, index, wallet: maker, signature: cancellation.text });
    }
    if (maker === undefined) {
      unsure.add(orderHash);
      continue;
    }
    const expiresAtSeconds = found?.expiresAtSeconds ?? cancellation.expiresAtSeconds ?? UNKNOWN_EXPIRY_SECONDS;
    const asked = found === undefined ? unplaced : toCancel;
    asked.set(orderHash, cancelledFact(maker, orderHash, expiresAtSeconds, { kind: 'request', requestId }));
  }
  const doubt = askWallets && (await askAbout(askWallets, doubts, request, isExit));
  if (doubt !== undefined) {
    return isRefusal(doubt)
      ? doubt
      : refuseSignature(cancellations[doubt.index]?.salt, doubt.fault, doubt.index, signatureAt);
  }
  return { toCancel, unplaced, unsure: [...unsure].filter((orderHash) => !unplaced.has(orderHash)) };
}

/**
 * Finds the maker for whom a cancellation is signed in a domain with this salt. If no key has signed it, says why, with
 * the digests to sign. The interface types the salt as uint256. Common wallets can only type it as bytes32, so both are
 * tried.
 */
export function proveCancellation(
  { hashCancellation }: Pick<Parts, 'hashCancellation'>,
  { orderHash, signature }: AskedCancellation,
  salt: Hex,
  makerOf: (signer: Address) => Address | undefined,
): { readonly maker: Address } | { readonly fault: string; readonly digests: readonly Hex[] } {
  const digits = salt.slice(2);
  const request = {
    orderHash: hexToBytes(orderHash),
    salt: hexToBytes(`0x${digits.length % 2 === 0 ? digits : `0${digits}`}`),
  };
  const others: (Address | undefined)[] = [];
  const hashed: Uint8Array[] = [];
  for (const type of saltTypes) {
    const digest = hashCancellation(request, type);
    hashed.push(digest);
    if (isSignatureRefusal(signature)) continue;
    const signer = recoverAddress(digest, signature);
    const maker = signer && makerOf(signer);
    if (maker !== undefined) return { maker };
    others.push(signer);
  }
  const digests = hashed.map(bytesToHex);
  if (isSignatureRefusal(signature)) return { fault: describeSignatureRefusal(signature), digests };
  if (others.every((signer) => signer === undefined)) return { fault: 'no key can have made it', digests };
  // Do not name the maker: the client may be a stranger.
  const fault = `it recovers to ${others[0]} with the salt typed uint256, and to ${others[1]} with bytes32`;
  return { fault, digests };
}

/**
 * The maker for whom the signer cancels: the signer itself, or one whose key it is. If the hash is unsure, no maker is
 * known, and the result is the signer, maker or key.
 */
function makerFor(makers: Makers, signer: Address, maker: Address | undefined): Address | undefined {
  if (maker !== undefined) return signer === maker || makers.cancelKeysOf(maker).includes(signer) ? maker : undefined;
  return makers.admissionOf(signer) === 'UNKNOWN' && !makers.isCancelKey(signer) ? undefined : signer;
}

function refuseSignature(
  salt: Hex | undefined,
  fault: string,
  index: number,
  signatureAt: AskedCancellations['signatureAt'],
): Refusal {
  const expected = salt === undefined ? "the order's own" : 'the one that the request names';
  const detail = `the signature is not the maker's: ${fault}; the salt of the domain has to be ${expected}`;
  return { code: 'invalid_signature', detail, index, errors: [{ pointer: signatureAt(index), detail: fault }] };
}
