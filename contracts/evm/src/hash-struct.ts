import type { Address, Hex } from '@makerbook/contracts-primitives';
import { createSigningMessage, hashDomain } from './hash-order.js';
import { keccak256, keccak256OfText } from './keccak.js';
import { type SigningDomain, type TypedField, typeString } from './typed-data.js';
import { createWordBuffer, putAddress, putUint256 } from './word-buffer.js';

/** A field is an address, a list of addresses or a uint256, as the types say; a uint256 may be in hex. */
export type StructHasher<Message extends object> = (message: Message) => Uint8Array;

/**
 * Hashes messages of one struct in the domain without a salt: the EIP-712 digest, 32 new bytes. Throws a TypeError or RangeError
 * for a value that is not of its type.
 * @param types one struct, whose fields are `address`, `address[]` or `uint256`
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
      else words.bytes.set(hashAddresses(value as readonly Address[]), 32 * (index + 1));
    }
    signing.set(keccak256(words.bytes), 34);
    return keccak256(signing);
  };
}

function hashAddresses(addresses: readonly Address[]): Uint8Array {
  const words = createWordBuffer(addresses.length);
  for (const [index, address] of addresses.entries()) putAddress(words, index, address);
  return keccak256(words.bytes);
}
