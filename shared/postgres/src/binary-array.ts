import type { Hex } from '@makerbook/contracts-primitives';

/** The value of a column, keyed by its kind. `number` is bigint in Postgres, and an amount is a decimal string here. */
export interface Values {
  readonly bytea: Hex;
  readonly bigint: bigint;
  readonly number: number;
  readonly integer: number;
  readonly numeric: string;
  readonly text: string;
  readonly boolean: boolean;
  readonly jsonb: unknown;
}

export type Kind = keyof Values;

interface Encoding {
  /** The type of the elements. */
  readonly type: string;
  readonly oid: number;
  /** @returns how many bytes were written */
  readonly write: (bytes: Buffer, at: number, value: never) => number;
}

const text: Encoding = { type: 'text', oid: 25, write: (bytes, at, value: string) => bytes.write(value, at) };
const int8 = { type: 'int8', oid: 20 };

/** Amounts and JSON are sent as text. The statement casts them. */
export const encodings: Readonly<Record<Kind, Encoding>> = {
  bytea: { type: 'bytea', oid: 17, write: (bytes, at, value: string) => bytes.write(value.slice(2), at, 'hex') },
  bigint: { ...int8, write: (bytes, at, value: bigint) => bytes.writeBigInt64BE(value, at) - at },
  number: { ...int8, write: (bytes, at, value: number) => bytes.writeBigInt64BE(BigInt(value), at) - at },
  integer: { type: 'int4', oid: 23, write: (bytes, at, value: number) => bytes.writeInt32BE(value, at) - at },
  boolean: { type: 'bool', oid: 16, write: (bytes, at, value: boolean) => bytes.writeUInt8(Number(value), at) - at },
  text,
  numeric: text,
  jsonb: text,
};

const HEAD_BYTES = 20;
const LENGTH_BYTES = 4;
const NUMBER_BYTES = 8;
const CHARACTER_BYTES = 3;

/** Encodes a parameter as an array in Postgres' binary form: the server copies the values and parses none. */
export function encodeArray(kind: Kind, values: readonly unknown[]): Buffer {
  const { oid, write } = encodings[kind];
  const room = (value: unknown) => (typeof value === 'string' ? CHARACTER_BYTES * value.length : NUMBER_BYTES);
  const bytes = Buffer.allocUnsafe(values.reduce<number>((sum, one) => sum + LENGTH_BYTES + room(one), HEAD_BYTES));
  // The head: one dimension, nulls allowed, the elements' type, how many, the first index.
  let at = [1, 1, oid, values.length, 1].reduce((place, field) => bytes.writeInt32BE(field, place), 0);
  for (const value of values) {
    const written = value === null ? -1 : write(bytes, at + LENGTH_BYTES, value as never);
    at = bytes.writeInt32BE(written, at) + Math.max(0, written);
  }
  return bytes.subarray(0, at);
}
