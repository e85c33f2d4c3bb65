import type { Address, Hex } from './hex.js';

/** A value that makes no sense. The message names the field and what it must be. It shows no text: it may be a key. */
export class WrongValue extends TypeError {
  override readonly name = 'WrongValue';
  /** The field as the caller knows it: `making.amount`, `orders[2].salt`, `MAKER_KEY`. */
  readonly field: string;

  constructor(field: string, wrong: string) {
    super(`${field} ${wrong}`);
    this.field = field;
  }
}

const mustBe = (field: string, what: string, value: unknown) =>
  new WrongValue(field, `must be ${what}, and is ${describe(value)}`);

function describe(value: unknown): string {
  if (value === '') return 'an empty string';
  if (typeof value === 'string') return `a string of ${value.length} characters`;
  if (typeof value === 'number') return `the number ${value}`;
  if (value === undefined || value === null) return String(value);
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

/** A uint256 as people give it: a bigint, a decimal string, or hex. A number may have lost digits already. */
export type Uint256 = bigint | string;

/** A time or a length of time as people give it. */
export type Whole = number | Uint256;

const DIGITS = /^(0x[0-9a-fA-F]{1,64}|[0-9]{1,78})$/;

/** @throws WrongValue for anything but a bigint, a decimal string or hex from 0 to 2^256 - 1 */
export function readUint256(field: string, value: unknown): bigint {
  const read = typeof value === 'string' && DIGITS.test(value) ? BigInt(value) : value;
  if (typeof read === 'bigint' && read >= 0n && read >> 256n === 0n) return read;
  throw mustBe(field, 'a bigint, a decimal string or 0x-hex, from 0 to 2^256 - 1', value);
}

/** The bounds of a whole number, both included, and what it counts. */
export interface Bounds {
  readonly unit: string;
  readonly min: number;
  readonly max: number;
  /** Whether 0 is taken too. */
  readonly orZero?: boolean;
}

/** Requests name times from 2020 to 2100. So no number is a time in both units, or both a time and a length of time. */
export const UNIX_MS = { unit: 'milliseconds since 1970', min: Date.UTC(2020, 0), max: Date.UTC(2100, 0) } as const;
export const UNIX_SECONDS = { unit: 'Unix seconds', min: UNIX_MS.min / 1000, max: UNIX_MS.max / 1000 } as const;

/** Takes a number, a bigint or a string of digits. @throws WrongValue unless it is whole and within the bounds */
export function readWhole(field: string, value: unknown, { unit, min, max, orZero = false }: Bounds): number {
  const read = typeof value === 'number' ? value : Number(digitsOf(value));
  if (Number.isSafeInteger(read) && ((read >= min && read <= max) || (orZero && read === 0))) return read;
  throw mustBe(field, `${unit}, from ${min} to ${max}${orZero ? ', or 0' : ''}`, value);
}

function digitsOf(value: unknown): bigint | undefined {
  if (typeof value === 'bigint') return value;
  return typeof value === 'string' && DIGITS.test(value) ? BigInt(value) : undefined;
}

/** Reads any uint256 as a time. Takes a number too. @throws WrongValue */
export function readTime(field: string, value: unknown): bigint {
  return readUint256(field, typeof value === 'number' && Number.isSafeInteger(value) ? BigInt(value) : value);
}

/**
 * Reads when an order expires. Takes any uint256 that is neither a time in milliseconds nor a length of time.
 * @throws WrongValue
 */
export function readExpiry(field: string, value: unknown): bigint {
  const read = readTime(field, value);
  const isInMs = read >= 10n ** 11n && read < 10n ** 14n;
  if (read >= 10n ** 9n && !isInMs) return read;
  throw new WrongValue(field, `must be Unix seconds, and is ${isInMs ? 'in milliseconds' : 'before 2001'}`);
}

/** @returns lowercase hex. @throws WrongValue for anything but 0x and hex of so many bytes */
export function readHex(field: string, value: unknown, bytes: number): Hex {
  if (typeof value === 'string' && isHex(value) && value.length === 2 + 2 * bytes) return value.toLowerCase() as Hex;
  throw mustBe(field, `0x and ${2 * bytes} hex digits`, value);
}

/** Reads bytes of any length, such as a signature or calldata. @returns them as given. @throws WrongValue */
export function readBytes(field: string, value: unknown): Hex {
  if (typeof value === 'string' && isHex(value) && value.length % 2 === 0) return value as Hex;
  throw mustBe(field, '0x and whole bytes of hex', value);
}

const isHex = (text: string) => /^0x[0-9a-fA-F]*$/.test(text);

/** @returns the address in lowercase. @throws WrongValue */
export function readAddress(field: string, value: unknown): Address {
  return readHex(field, value, 20);
}

/** Reads the address of a token. @returns it in lowercase. @throws WrongValue, also for the zero address */
export function readToken(field: string, value: unknown): Address {
  const address = readAddress(field, value);
  if (BigInt(address) !== 0n) return address;
  throw new WrongValue(field, 'must be the address of a token, and is the zero address');
}

const CURVE_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

/** Reads a private key of secp256k1. @throws WrongValue, which does not show the key */
export function readPrivateKey(field: string, value: unknown): Hex {
  const isKey = typeof value === 'string' && isHex(value) && value.length === 66;
  if (isKey && BigInt(value) > 0n && BigInt(value) < CURVE_ORDER) return value as Hex;
  throw new WrongValue(field, 'is no private key: 0x and 64 hex digits');
}

/** Reads the key of a reader, which an HTTP header can hold. @throws WrongValue, which does not show the key */
export function readBearerKey(field: string, value: unknown): string {
  if (typeof value === 'string' && /^[ -~]+$/.test(value) && value.trim() === value) return value;
  throw new WrongValue(field, 'is no key of a reader: ASCII, without line breaks and spaces around it');
}

/** @returns the URL without slashes at the end. @throws WrongValue, also for a user, password, query or fragment */
export function readServiceUrl(field: string, value: unknown): string {
  const url = typeof value === 'string' && URL.canParse(value) ? new URL(value) : undefined;
  const isPlain = url !== undefined && url.username === '' && url.password === '' && !/[?#]/.test(String(value));
  if (isPlain && /^https?:$/.test(url.protocol)) return String(value).replace(/\/+$/, '');
  throw new WrongValue(field, 'must be a URL that begins with http:// or https://, without user, password and query');
}

/** @throws WrongValue for anything but a text that is not empty */
export function readName(field: string, value: unknown): string {
  if (typeof value === 'string' && value !== '') return value;
  throw mustBe(field, 'a text', value);
}

/** @throws WrongValue for anything but an array */
export function readArray<T>(field: string, value: readonly T[]): readonly T[] {
  if (Array.isArray(value)) return value;
  throw mustBe(field, 'an array', value);
}

/** @throws WrongValue for anything but an object with fields */
export function readFields<T extends object>(field: string, value: T): T {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  throw mustBe(field, 'an object', value);
}
