import { keccak_256 } from '@noble/hashes/sha3.js';
import { bytesToHex, concatBytes, hexToBytes, utf8ToBytes } from '@noble/hashes/utils.js';

/** One field of a struct. */
export interface TypedField {
  readonly name: string;
  readonly type: string;
}

export type Types = Readonly<Record<string, readonly TypedField[]>>;

/** What is signed, in the form that a wallet takes by `eth_signTypedData_v4`; quantities are decimal or 0x-prefixed texts. */
export interface TypedData {
  readonly types: Types;
  readonly primaryType: string;
  readonly domain: Struct;
  readonly message: Struct;
}

type Struct = { readonly [field: string]: string | number | Struct };

/** The EIP-712 digest of typed data: 0x and 64 hex digits. Its types are `string`, `address`, `bytes32`, `uint256` and structs. */
export function hashTypedData({ types, primaryType, domain, message }: TypedData): string {
  const separator = hashStruct(types, 'EIP712Domain', domain);
  const digest = keccak_256(concatBytes(Uint8Array.of(0x19, 0x01), separator, hashStruct(types, primaryType, message)));
  return `0x${bytesToHex(digest)}`;
}

/** The type string: the struct itself, then those that it names, by their names. */
export function typeString(types: Types, name: string): string {
  const named = new Set<string>();
  const collect = (type: string) => {
    if (named.has(type) || types[type] === undefined) return;
    named.add(type);
    for (const field of types[type]) collect(field.type);
  };
  collect(name);
  const others = [...named].filter((type) => type !== name).sort();
  return [name, ...others]
    .map((type) => `${type}(${(types[type] ?? []).map((field) => `${field.type} ${field.name}`).join(',')})`)
    .join('');
}

function hashStruct(types: Types, name: string, value: Struct): Uint8Array {
  const words = (types[name] ?? []).map((field) => encode(types, field.type, value[field.name]));
  return keccak_256(concatBytes(keccak_256(utf8ToBytes(typeString(types, name))), ...words));
}

function encode(types: Types, type: string, value: string | number | Struct | undefined): Uint8Array {
  if (value === undefined) throw new TypeError(`a field of type ${type} is missing`);
  if (typeof value === 'object') return hashStruct(types, type, value);
  if (type === 'string') return keccak_256(utf8ToBytes(String(value)));
  const number = BigInt(value);
  if (number < 0n || number >> 256n !== 0n) throw new RangeError(`${value} is no ${type}`);
  return hexToBytes(number.toString(16).padStart(64, '0'));
}
