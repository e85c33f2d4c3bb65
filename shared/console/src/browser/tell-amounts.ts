import type { Token } from './state.js';

const FRACTION_DIGITS_MAX = 6;
const digits = { minimumSignificantDigits: 6, maximumSignificantDigits: 6 } as const;
const prices = new Intl.NumberFormat('en', digits);
const extremes = new Intl.NumberFormat('en', { ...digits, notation: 'scientific' });

/** Tokens by address: those that are not known are named by it, and counted in their smallest unit. */
export class Tokens {
  readonly #known = new Map<string, Token>();

  learn(tokens: readonly Token[]): void {
    for (const token of tokens) this.#known.set(token.address, token);
  }

  of(address: string): Token {
    return this.#known.get(address) ?? { address, symbol: shorten(address), decimals: 0 };
  }

  /** `1,234.5 USDT` */
  tell(amount: bigint, address: string): string {
    const { symbol, decimals } = this.of(address);
    return `${tellUnits(amount, decimals)} ${symbol}`;
  }
}

export const shorten = (hex: string): string => `${hex.slice(0, 8)}…${hex.slice(-4)}`;

/** An amount of the smallest unit in whole units, with six digits behind the point at most. */
export function tellUnits(amount: bigint, decimals: number): string {
  const digits = amount.toString().padStart(decimals + 1, '0');
  const whole = BigInt(digits.slice(0, digits.length - decimals)).toLocaleString('en');
  const fraction = digits
    .slice(digits.length - decimals, digits.length - decimals + FRACTION_DIGITS_MAX)
    .replace(/0+$/, '');
  if (amount > 0n && whole === '0' && fraction === '') return '<0.000001';
  return fraction === '' ? whole : `${whole}.${fraction}`;
}

/** @returns undefined where the text is no amount of the token above zero */
export function parseUnits(text: string, decimals: number): bigint | undefined {
  const [, whole = '', fraction = ''] = /^([0-9]+)(?:\.([0-9]*))?$/.exec(text.trim().replaceAll(',', '')) ?? [];
  if (whole === '' || fraction.length > decimals) return undefined;
  const amount = BigInt(whole + fraction.padEnd(decimals, '0'));
  return amount === 0n ? undefined : amount;
}

/** Nearly, for charts and prices. */
export const inUnits = (amount: bigint, decimals: number): number => Number(amount) / 10 ** decimals;

/** Six significant digits, always as many: they do not jump. */
export function tellPrice(price: number | undefined): string {
  if (price === undefined) return '–';
  return (price >= 1e9 || price < 1e-6 ? extremes : prices).format(price);
}

/** Of a clock: always as precise, so that it does not jump. */
export const tellAge = (seconds: number): string => `${seconds.toFixed(1)} s`;

export function tellSeconds(seconds: number | undefined): string {
  if (seconds === undefined) return '–';
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  return seconds < 100 ? `${seconds.toFixed(1)} s` : `${Math.round(seconds).toLocaleString('en')} s`;
}
