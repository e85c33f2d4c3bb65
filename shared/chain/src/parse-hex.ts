import type { Hex } from '@makerbook/contracts-primitives';
import { RpcUnavailable } from './failures.js';

/**
 * Reads a number that a source writes as a hex quantity or as a number. Throws RpcUnavailable for anything else.
 * @param by the name of the source
 */
export function numberOf(value: unknown, what: string, by: string): number {
  const number = typeof value === 'string' && /^0x[0-9a-f]+$/i.test(value) ? Number.parseInt(value, 16) : value;
  if (typeof number === 'number' && Number.isSafeInteger(number) && number >= 0) return number;
  throw new RpcUnavailable(`${by} gave a ${what} that is not a number: ${String(value)}`);
}

/** Reads `length` bytes of hex, or any number of them, as lowercase. Throws RpcUnavailable for anything else. */
export function bytesOf(value: unknown, length: number | undefined, what: string, by: string): Hex {
  if (
    typeof value === 'string' &&
    value.startsWith('0x') &&
    (length === undefined || value.length === 2 + 2 * length)
  ) {
    return value.toLowerCase() as Hex;
  }
  throw new RpcUnavailable(`${by} gave a ${what} that is not ${length ?? 'any'} bytes: ${String(value)}`);
}
