import type { Hex } from '@makerbook/contracts-primitives';
import { type BookCause, type BookEntry, bookCause, type FundingView, type LogPosition } from './feeds.js';
import type { OrderCancelled, OrderSubmitted } from './maker-events.js';
import { type Cause, type OrderBody, patterns } from './primitives.js';

/** A parsed JSON object. */
export type Data = Readonly<Record<string, unknown>>;

/**
 * Reads a fact of the most frequent types without its schema, in two thirds of the time. Returns undefined for an
 * unusual fact: then the schema reads it, or says what is wrong.
 * @param data the fact's data, without its type
 */
export function readFactStraight(type: string, data: Data): OrderSubmitted | OrderCancelled | undefined {
  if (type !== 'OrderSubmitted' && type !== 'OrderCancelled') return undefined;
  const { maker, orderHash, cause: given } = data;
  const cause = readRequest(given);
  if (!isAddress(maker) || !isBytes32(orderHash) || cause === undefined) return undefined;
  if (type === 'OrderCancelled') {
    const { expiresAtSeconds } = data;
    return isWhole(expiresAtSeconds) ? { type, maker, orderHash, expiresAtSeconds, cause } : undefined;
  }
  if ('byWallet' in data) return undefined;
  const { signature, acceptedAtMs } = data;
  const order = readOrder(data['order']);
  if (order === undefined || !isSignature(signature) || !isWhole(acceptedAtMs)) return undefined;
  return { type, maker, orderHash, order, signature, acceptedAtMs, cause };
}

/** Reads an order of the book, as `readFactStraight` reads a fact. */
export function readEntryStraight(type: string, data: Data): BookEntry | undefined {
  if (type !== 'BookEntry') return undefined;
  const { orderHash, signature, remainingMakingAmount, routableUntil, acceptedAtMs, causes, status } = data;
  const order = readOrder(data['order']);
  const position = readPosition(data['position']);
  if (!isBytes32(orderHash) || order === undefined || !isSignature(signature)) return undefined;
  if (!isQuantity(remainingMakingAmount) || !isWhole(routableUntil) || !isWhole(acceptedAtMs)) return undefined;
  if (position === undefined || !Array.isArray(causes) || !causes.every(isCause)) return undefined;
  const amounts = { remainingMakingAmount, routableUntil, acceptedAtMs };
  const base = { type, orderHash, order, signature, ...amounts, position, causes } as const;
  if (status === 'VALIDATING') return { ...base, status };
  const funding = readFunding(data['funding']);
  if (funding === undefined) return undefined;
  if (status === 'ACTIVE') return { ...base, status, funding };
  const { reason } = data;
  if (reason !== 'INSUFFICIENT_ALLOWANCE' && reason !== 'INSUFFICIENT_BALANCE') return undefined;
  return status === 'INACTIVE' ? { ...base, status, reason, funding } : undefined;
}

function readOrder(value: unknown): OrderBody | undefined {
  if (!isObject(value)) return undefined;
  const { salt, nonce, expiresAt, maker, permittedTaker } = value;
  const making = readAmount(value['making']);
  const taking = readAmount(value['taking']);
  if (!isQuantity(salt) || !isQuantity(nonce) || !isQuantity(expiresAt)) return undefined;
  if (making === undefined || taking === undefined || !isAddress(maker) || !isAddress(permittedTaker)) return undefined;
  return { salt, nonce, expiresAt, making, taking, maker, permittedTaker };
}

function readAmount(value: unknown): OrderBody['making'] | undefined {
  if (!isObject(value)) return undefined;
  const { token, amount } = value;
  return isAddress(token) && isQuantity(amount) ? { token, amount } : undefined;
}

function readRequest(value: unknown): Cause | undefined {
  if (!isObject(value) || value['kind'] !== 'request') return undefined;
  const { requestId } = value;
  const isId = typeof requestId === 'string' && requestId.length >= 1 && requestId.length <= 128;
  return isId ? { kind: 'request', requestId } : undefined;
}

function readPosition(value: unknown): LogPosition | undefined {
  if (!isObject(value)) return undefined;
  const { partition, offset } = value;
  const isOffset = typeof offset === 'string' && patterns.offset.test(offset);
  return isOffset && isWhole(partition) ? { partition, offset } : undefined;
}

function readFunding(value: unknown): FundingView | undefined {
  if (!isObject(value)) return undefined;
  const { balance, allowance, block } = value;
  return isQuantity(balance) && isQuantity(allowance) && isWhole(block) ? { balance, allowance, block } : undefined;
}

const causes: ReadonlySet<unknown> = new Set(bookCause.options);
const isCause = (value: unknown): value is BookCause => causes.has(value);
const isObject = (value: unknown): value is Data =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isWhole = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
const isHex =
  (pattern: RegExp) =>
  (value: unknown): value is Hex =>
    typeof value === 'string' && pattern.test(value);
const isAddress = isHex(patterns.address);
const isBytes32 = isHex(patterns.bytes32);
const isQuantity = isHex(patterns.quantity);
const isSignature = isHex(patterns.signature);
