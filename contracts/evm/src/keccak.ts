import { createKeccak } from 'hash-wasm';

// The process shares one hasher. Each use below runs from init to digest without yielding, so uses never interleave.
const hasher = await createKeccak(256);

/** keccak-256 of the bytes: 32 new bytes. */
export function keccak256(bytes: Uint8Array): Uint8Array {
  hasher.init();
  hasher.update(bytes);
  return hasher.digest('binary');
}

/** keccak-256 of the UTF-8 bytes of a text: 32 new bytes. */
export function keccak256OfText(text: string): Uint8Array {
  return keccak256(new TextEncoder().encode(text));
}
