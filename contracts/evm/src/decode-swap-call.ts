import type { Address } from '@makerbook/contracts-primitives';
import {
  encodeSwapCall,
  POOL_BYTES,
  QUOTE_WORDS,
  ROUTE_POOLS_MAX,
  SIGNATURE_BYTES,
  SWAP_CALL_MAX_BYTES,
  type SwapCall,
  swapCallBytes,
  swapSelectors,
} from './encode-swap-call.js';
import { bytesToHex } from './hex.js';

/** Why bytes are no swap call. */
export interface SwapCallRefusal {
  readonly code: 'too_short' | 'too_long' | 'unknown_selector' | 'not_canonical';
}

/** Distinguishes the two results of `decodeSwapCall`. */
export function isSwapCallRefusal(result: SwapCall | SwapCallRefusal): result is SwapCallRefusal {
  return 'code' in result;
}

/**
 * Reads the calldata of a swap call. Takes only the one encoding that `encodeSwapCall` writes: no trailing bytes, no
 * other offsets, no dirty padding. So a call that is patched and encoded again differs only in the patched words.
 * Refuses anything over `SWAP_CALL_MAX_BYTES` unread, so it never costs more than reading a kilobyte.
 */
export function decodeSwapCall(data: Uint8Array): SwapCall | SwapCallRefusal {
  if (data.length > SWAP_CALL_MAX_BYTES) return { code: 'too_long' };
  if (data.length < 4) return { code: 'too_short' };
  const version = findVersion(data);
  if (version === undefined) return { code: 'unknown_selector' };
  if (data.length < swapCallBytes(version, 1, false)) return { code: 'too_short' };

  const routeLength = 4 + 32 * (QUOTE_WORDS[version] + 3);
  const poolCount = smallAt(data, routeLength) / POOL_BYTES;
  if (!Number.isInteger(poolCount) || poolCount < 1 || poolCount > ROUTE_POOLS_MAX) return { code: 'not_canonical' };
  const assertionLength = routeLength + 32 * (1 + Math.ceil((poolCount * POOL_BYTES) / 32));
  // Stop unless the parts add up to the length of the data. So every offset below lies inside the data.
  const hasMinOutput = data.length === swapCallBytes(version, poolCount, true);
  if (!hasMinOutput && data.length !== swapCallBytes(version, poolCount, false)) return { code: 'not_canonical' };
  const signatureLength = assertionLength + (hasMinOutput ? 64 : 32);

  const common = {
    pools: Array.from({ length: poolCount }, (_, index) => sliceAddress(data, routeLength + 32 + index * POOL_BYTES)),
    minOutput: hasMinOutput ? uintAt(data, assertionLength + 32) : undefined,
    signature: bytesToHex(data.subarray(signatureLength + 32, signatureLength + 32 + SIGNATURE_BYTES)),
  };
  const call = version === 'v0' ? readQuoteV0(data, common) : readQuoteV1(data, common);
  // Offsets, lengths and padding were skipped above. They must be what encoding writes there.
  return areEqual(encodeSwapCall(call), data) ? call : { code: 'not_canonical' };
}

type DynamicParts = Pick<SwapCall, 'pools' | 'minOutput' | 'signature'>;

function readQuoteV0(data: Uint8Array, parts: DynamicParts): SwapCall {
  return {
    version: 'v0',
    tokenIn: addressAt(data, 4),
    amountIn: uintAt(data, 36),
    tokenOut: addressAt(data, 68),
    deadline: uintAt(data, 100),
    ...parts,
  };
}

function readQuoteV1(data: Uint8Array, parts: DynamicParts): SwapCall {
  return {
    version: 'v1',
    quoteId: uintAt(data, 4),
    tokenIn: addressAt(data, 36),
    amountIn: uintAt(data, 68),
    tokenOut: addressAt(data, 100),
    recipient: addressAt(data, 132),
    deadline: uintAt(data, 164),
    ...parts,
  };
}

function findVersion(data: Uint8Array): SwapCall['version'] | undefined {
  const selector = bytesToHex(data.subarray(0, 4));
  if (selector === swapSelectors.v0) return 'v0';
  if (selector === swapSelectors.v1) return 'v1';
  return undefined;
}

function uintAt(data: Uint8Array, at: number): bigint {
  return BigInt(bytesToHex(data.subarray(at, at + 32)));
}

/** The low four bytes of a word. A larger word will differ from its encoding. */
function smallAt(data: Uint8Array, at: number): number {
  return new DataView(data.buffer, data.byteOffset + at, 32).getUint32(28);
}

function addressAt(data: Uint8Array, at: number): Address {
  return sliceAddress(data, at + 12);
}

function sliceAddress(data: Uint8Array, at: number): Address {
  return bytesToHex(data.subarray(at, at + 20));
}

function areEqual(left: Uint8Array, right: Uint8Array): boolean {
  return Buffer.compare(left, right) === 0;
}
