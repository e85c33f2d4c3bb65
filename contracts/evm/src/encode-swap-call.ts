import type { Address, Hex } from '@makerbook/contracts-primitives';
import { bytesToHex, decodeHex } from './hex.js';
import { keccak256OfText } from './keccak.js';
import { putAddress, putUint256, type WordBuffer } from './word-buffer.js';

interface SwapCallCommon {
  readonly tokenIn: Address;
  readonly amountIn: bigint;
  readonly tokenOut: Address;
  /** Unix seconds. The call can run up to and including this time. */
  readonly deadline: bigint;
  /** The pools of the path: 1 to `ROUTE_POOLS_MAX`. */
  readonly pools: readonly Address[];
  /** The guaranteed minimum output; undefined when the call has no such assertion at all. */
  readonly minOutput: bigint | undefined;
  /** 65 bytes r ‖ s ‖ v by a quote signer over everything else. The codec does not verify it. */
  readonly signature: Hex;
}

/** The swap call of a quote of interface version v0: `swapQuoteV0`. The output goes to the caller. */
export interface SwapCallV0 extends SwapCallCommon {
  readonly version: 'v0';
}

/** The swap call of a quote of interface version v1: `swapQuoteV1`. */
export interface SwapCallV1 extends SwapCallCommon {
  readonly version: 'v1';
  readonly quoteId: bigint;
  readonly recipient: Address;
}

/** The part of a swap call that its signature covers. */
export type UnsignedSwapCall = Omit<SwapCallV0, 'signature'> | Omit<SwapCallV1, 'signature'>;

/** The content of `quote.tx.data`: a call of the Navigator. */
export type SwapCall = SwapCallV0 | SwapCallV1;

export const ROUTE_POOLS_MAX = 8;
export const POOL_BYTES = 20;
export const SIGNATURE_BYTES = 65;

/** First four bytes of a swap call's calldata, keyed by version. */
export const swapSelectors: Readonly<Record<SwapCall['version'], Hex>> = {
  v0: selectorOf('swapQuoteV0((address,uint256,address,uint256),bytes,uint256[],bytes)'),
  v1: selectorOf('swapQuoteV1((uint256,address,uint256,address,address,uint256),bytes,uint256[],bytes)'),
};

/** How many words the quote's fields take, before the dynamic parts of a call. */
export const QUOTE_WORDS: Readonly<Record<SwapCall['version'], number>> = { v0: 4, v1: 6 };

/** The length of the longest swap call: a v1 call with all pools and an assertion. */
export const SWAP_CALL_MAX_BYTES = swapCallBytes('v1', ROUTE_POOLS_MAX, true);

/** The length of the one canonical encoding of a swap call. */
export function swapCallBytes(version: SwapCall['version'], pools: number, hasMinOutput: boolean): number {
  const routeWords = Math.ceil((pools * POOL_BYTES) / 32);
  const signatureWords = Math.ceil(SIGNATURE_BYTES / 32);
  // The selector, the fields, three offsets, three lengths, and the data of those lengths.
  return 4 + 32 * (QUOTE_WORDS[version] + 3 + 3 + routeWords + (hasMinOutput ? 1 : 0) + signatureWords);
}

/**
 * Encodes the calldata of a swap call, in the one encoding that `decodeSwapCall` takes: as the ABI lays it out, dynamic
 * parts in order and without gaps. Without a minimum the array is empty, so it has no word to patch.
 * Throws a RangeError or TypeError for values that no call can hold.
 */
export function encodeSwapCall(call: SwapCall): Uint8Array {
  const { pools, minOutput } = call;
  if (call.signature.length !== 2 + SIGNATURE_BYTES * 2) throw new RangeError(`${SIGNATURE_BYTES} bytes of signature`);
  const bytes = new Uint8Array(swapCallBytes(call.version, pools.length, minOutput !== undefined));
  decodeHex(swapSelectors[call.version], 2, bytes, 0, 4);
  const body = bytes.subarray(4);
  const words = { bytes: body, view: new DataView(body.buffer, body.byteOffset, body.byteLength) };

  const head = QUOTE_WORDS[call.version];
  putQuote(words, 0, call);
  const route = head + 3;
  const assertion = route + 1 + Math.ceil((pools.length * POOL_BYTES) / 32);
  const signature = assertion + 1 + (minOutput === undefined ? 0 : 1);
  for (const [index, part] of [route, assertion, signature].entries())
    putUint256(words, head + index, BigInt(part * 32));

  putUint256(words, route, BigInt(pools.length * POOL_BYTES));
  putRoute(body, (route + 1) * 32, pools);
  putUint256(words, assertion, minOutput === undefined ? 0n : 1n);
  if (minOutput !== undefined) putUint256(words, assertion + 1, minOutput);
  putUint256(words, signature, BigInt(SIGNATURE_BYTES));
  if (!call.signature.startsWith('0x') || !decodeHex(call.signature, 2, body, (signature + 1) * 32, SIGNATURE_BYTES)) {
    throw new TypeError('a signature is hex');
  }
  return bytes;
}

/** Writes the fields of a quote in the order of its struct, starting at word `from`. */
export function putQuote(words: WordBuffer, from: number, call: UnsignedSwapCall): void {
  if (call.version === 'v0') {
    putAddress(words, from, call.tokenIn);
    putUint256(words, from + 1, call.amountIn);
    putAddress(words, from + 2, call.tokenOut);
    putUint256(words, from + 3, call.deadline);
    return;
  }
  putUint256(words, from, call.quoteId);
  putAddress(words, from + 1, call.tokenIn);
  putUint256(words, from + 2, call.amountIn);
  putAddress(words, from + 3, call.tokenOut);
  putAddress(words, from + 4, call.recipient);
  putUint256(words, from + 5, call.deadline);
}

/** Writes the pools of a route, packed. Throws a RangeError for none or too many, a TypeError for a non-address. */
export function putRoute(bytes: Uint8Array, at: number, pools: readonly Address[]): void {
  if (pools.length < 1 || pools.length > ROUTE_POOLS_MAX) throw new RangeError(`1 to ${ROUTE_POOLS_MAX} pools`);
  for (const [index, pool] of pools.entries()) {
    if (
      pool.length !== 42 ||
      !pool.startsWith('0x') ||
      !decodeHex(pool, 2, bytes, at + index * POOL_BYTES, POOL_BYTES)
    ) {
      throw new TypeError('a pool is an address');
    }
  }
}

function selectorOf(signature: string): Hex {
  return bytesToHex(keccak256OfText(signature).subarray(0, 4));
}
