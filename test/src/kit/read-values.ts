import { endWithUsage } from '@makerbook/settings';

/** Reads a whole number from `least` on, or ends the process as `readOptions` does. */
export function readWhole(usage: string, option: string, text: string, least = 0): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(value) && value >= least) return value;
  return endWithUsage(usage, `${option} ${text}: a whole number is needed, ${least} or more`);
}

/** Reads `7` or `1..20` as the numbers in it, or ends the process as `readOptions` does. */
export function readRange(usage: string, option: string, text: string): number[] {
  const [first = '', last = first] = text.split('..');
  const from = readWhole(usage, option, first);
  return Array.from({ length: readWhole(usage, option, last, from) - from + 1 }, (_, index) => from + index);
}
