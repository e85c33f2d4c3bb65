import { refuseWords } from '@makerbook/settings';

/** Reads a whole number from `least` on, or ends the process as `readOptions` does. */
export function readWhole(option: string, text: string, least = 0): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(value) && value >= least) return value;
  return refuseWords(`${option} ${text}: a whole number is needed, ${least} or more`);
}

/** Reads `7` or `1..20` as the numbers in it, or ends the process as `readOptions` does. */
export function readRange(option: string, text: string): number[] {
  const [first = '', last = first] = text.split('..');
  const from = readWhole(option, first);
  return Array.from({ length: readWhole(option, last, from) - from + 1 }, (_, index) => from + index);
}
