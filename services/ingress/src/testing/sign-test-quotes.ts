import {
  bytesToHex,
  createSwapCallHasher,
  decodeSwapCall,
  encodeSwapCall,
  hexToBytes,
  isSwapCallRefusal,
  type SwapCall,
  type UnsignedSwapCall,
} from '@makerbook/contracts-evm';
import type { Address, Hex } from '@makerbook/contracts-primitives';
import { addressOfKey, parseSignature, recoverAddress, signDigest } from '@makerbook/signatures';

export const navigator: Address = '0x00000000000000000000000000000000000000bb';
export const serviceKey: Hex = `0x${'11'.repeat(32)}`;
export const issuerKey: Hex = `0x${'22'.repeat(32)}`;
export const strangerKey: Hex = `0x${'33'.repeat(32)}`;
export const serviceSigner = addressOfKey(hexToBytes(serviceKey));
export const issuer = addressOfKey(hexToBytes(issuerKey));
export const hasher = createSwapCallHasher({ serviceName: 'Test', chainId: 8217, verifyingContract: navigator });

const token = (last: string): Address => `0x${last.padStart(40, '0')}`;

/** A quote of each version that is valid for long, with a minimum of 1000. */
export const quoteV0: Extract<UnsignedSwapCall, { version: 'v0' }> = {
  version: 'v0',
  tokenIn: token('1'),
  amountIn: 5000n,
  tokenOut: token('2'),
  deadline: 4_000_000_000n,
  pools: [token('3'), token('4')],
  minOutput: 1000n,
};
export const quoteV1: Extract<UnsignedSwapCall, { version: 'v1' }> = {
  ...quoteV0,
  version: 'v1',
  quoteId: 77n,
  recipient: token('5'),
};

/** `quote.tx.data` of a quote, signed by a key. */
export function signTestQuote(quote: UnsignedSwapCall, key: Hex = issuerKey): Hex {
  const signature = signDigest(hasher.hashSwapCall(quote), hexToBytes(key));
  return bytesToHex(encodeSwapCall({ ...quote, signature }));
}

/** Reads calldata back, with who signed it. */
export function readTestQuote(data: string): SwapCall & { signer: Address | undefined } {
  const call = decodeSwapCall(hexToBytes(data as Hex));
  if (isSwapCallRefusal(call)) throw new Error(call.code);
  const signature = parseSignature(call.signature);
  if ('code' in signature) throw new Error(signature.code);
  return { ...call, signer: recoverAddress(hasher.hashSwapCall(call), signature) };
}
