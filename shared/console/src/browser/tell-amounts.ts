import type { Token } from './state.js';

const digits = { minimumSignificantDigits: 6, maximumSignificantDigits: 6 } as const;
const prices = new Intl.NumberFormat('en', digits);
const extremes = new Intl.NumberFormat('en', { ...digits, notation: 'scientific' });
/** Six digits behind the point, or the first one that is not zero. */
const amounts = new Intl.NumberFormat('en', {
  maximumFractionDigits: 6,
  maximumSignificantDigits: 1,
  roundingPriority: 'morePrecision',
  roundingMode: 'trunc',
});

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
  tell(amount: bigint | string, address: string): string {
    const { symbol, decimals } = this.of(address);
    return `${tellUnits(BigInt(amount), decimals)} ${symbol}`;
  }
}

export const shorten = (hex: string): string => `${hex.slice(0, 8)}…${hex.slice(-4)}`;

/** An amount of the smallest unit in whole units. */
export const tellUnits = (amount: bigint, decimals: number): string => amounts.format(`${amount}E-${decimals}` as '0');

/** @returns undefined where the text is no amount of the token above zero */
export function parseUnits(text: string, decimals: number): bigint | undefined {
  const [, whole = '', fraction = ''] = /^([0-9]+)(?:\.([0-9]*))?$/.exec(text.trim().replaceAll(',', '')) ?? [];
  if (whole === '' || fraction.length > decimals) return undefined;
  return BigInt(whole + fraction.padEnd(decimals, '0')) || undefined;
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
  return seconds < 1 ? `${Math.round(seconds * 1000)} ms` : tellAge(seconds);
}

/** In UTC. */
export const tellTime = (ms: number): string => new Date(ms).toISOString().replace('T', ' ').slice(0, 19);
