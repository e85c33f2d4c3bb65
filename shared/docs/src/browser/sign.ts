import { hmac } from '@noble/hashes/hmac.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { keccak_256 } from '@noble/hashes/sha3.js';
import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js';
import { getPublicKey, hashes, sign, utils } from '@noble/secp256k1';
import { hashTypedData, type TypedData } from './typed-data.js';

// Given, so that a page that came over plain HTTP can sign too: the browser has its own for HTTPS and localhost alone.
hashes.sha256 = sha256;
hashes.hmacSha256 = (key, message) => hmac(sha256, key, message);

/** A new private key: 64 hex digits after 0x. */
export function createKey(): string {
  return `0x${bytesToHex(utils.randomSecretKey())}`;
}

/** The address of a key, in lowercase. */
export function addressOf(key: string): string {
  const point = getPublicKey(hexToBytes(key.slice(2)), false);
  return `0x${bytesToHex(keccak_256(point.subarray(1)).subarray(12))}`;
}

/** The signature of typed data by a key: 65 bytes r, s, v as 0x-prefixed hex, with low s and v of 27 or 28. */
export function signTypedData(data: TypedData, key: string): string {
  const digest = hexToBytes(hashTypedData(data).slice(2));
  const [recovery = 0, ...rs] = sign(digest, hexToBytes(key.slice(2)), { prehash: false, format: 'recovered' });
  return `0x${bytesToHex(Uint8Array.from(rs))}${(27 + recovery).toString(16)}`;
}
