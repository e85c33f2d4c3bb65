import type { Address, Hex } from '@makerbook/contracts-primitives';
import { createSigningMessage, hashDomain } from './hash-order.js';
import { keccak256, keccak256OfText } from './keccak.js';
import { type SigningDomain, type TypedField, typeString } from './typed-data.js';
import { createWordBuffer, putAddress, putBytes32, putUint256 } from './word-buffer.js';

/** Hashes a message. Its fields are addresses, uint256 (also in hex), strings, or lists, as the types say. */
export type StructHasher<Message extends object> = (message: Message) => Uint8Array;

/**
 * Hashes messages of one struct in the domain without a salt: the EIP-712 digest, 32 new bytes. Throws a TypeError or
 * RangeError for a value of another type.
 * @param types one struct, whose fields are `address`, `uint256`, `string`, `address[]`, `bytes32[]` or `uint256[]`
 */
export function createStructHasher<Message extends object>(
  domain: SigningDomain,
  types: Record<string, TypedField[]>,
): StructHasher<Message> {
  const fields = Object.values(types).flat();
  const words = createWordBuffer(fields.length + 1);
  words.bytes.set(keccak256OfText(typeString(types)));
  const signing = createSigningMessage(hashDomain(domain));
  return (message) => {
    for (const [index, { name, type }] of fields.entries()) {
      const value = (message as Record<string, unknown>)[name];
      if (type === 'uint256') putUint256(words, index + 1, BigInt(value as bigint | number | Hex));
      else if (type === 'address') putAddress(words, index + 1, value as Address);
      else if (type === 'string') words.bytes.set(keccak256OfText(value as string), 32 * (index + 1));
      else words.bytes.set(hashList(type, value as readonly Hex[]), 32 * (index + 1));
    }
    signing.set(keccak256(words.bytes), 34);
    return keccak256(signing);
  };
}

function hashList(type: string, values: readonly Hex[]): Uint8Array {
  const words = createWordBuffer(values.length);
  for (const [index, value] of values.entries()) {
    if (type === 'uint256[]') putUint256(words, index, BigInt(value));
    else (type === 'bytes32[]' ? putBytes32 : putAddress)(words, index, value);
  }
  return keccak256(words.bytes);
}
