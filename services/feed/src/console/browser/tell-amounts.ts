const prices = new Intl.NumberFormat('en', { minimumSignificantDigits: 6, maximumSignificantDigits: 6 });
/** Six digits behind the point, or the first one that is not zero. */
const amounts = new Intl.NumberFormat('en', {
  maximumFractionDigits: 6,
  maximumSignificantDigits: 1,
  roundingPriority: 'morePrecision',
  roundingMode: 'trunc',
});

/** Tokens, keyed by address. An unknown token is named by its address, and counted in its smallest unit. */
export class Tokens {
  readonly #known = new Map<string, { readonly symbol: string; readonly decimals: number }>();

  /** @param tokens symbol, decimals and address of each */
  learn(tokens: readonly string[][]): void {
    for (const [symbol = '', decimals, address = ''] of tokens)
      this.#known.set(address.toLowerCase(), { symbol, decimals: Number(decimals) });
  }

  of(address: string) {
    return this.#known.get(address) ?? { symbol: shorten(address), decimals: 0 };
  }

  /** `1,234.5 USDT` */
  tell(amount: bigint | string, address: string): string {
    const { symbol, decimals } = this.of(address);
    return `${amounts.format(`${BigInt(amount)}E-${decimals}` as '0')} ${symbol}`;
  }

  /** Converts to whole units, nearly: for charts and prices. */
  units(amount: bigint | string, address: string): number {
    return Number(amount) / 10 ** this.of(address).decimals;
  }
}

export const shorten = (hex: string): string => (hex.length > 12 ? `${hex.slice(0, 6)}…${hex.slice(-4)}` : hex);

/** Parses whole units. @returns smallest units, or undefined if the text is no amount of the token above zero */
export function parseUnits(text: string, decimals: number): bigint | undefined {
  const [, whole = '', fraction = ''] = /^([0-9]+)(?:\.([0-9]*))?$/.exec(text.trim().replaceAll(',', '')) ?? [];
  if (whole === '' || fraction.length > decimals) return undefined;
  return BigInt(whole + fraction.padEnd(decimals, '0')) || undefined;
}

/** Always has six significant digits, so that prices do not jump. */
export const tellPrice = (price?: number): string => (price === undefined ? '–' : prices.format(price));

/** Gives the numbers of a column as many decimals as the greatest one has with six significant digits. */
export function alignTo(greatest: number): (amount: number) => string {
  const digits = Math.min(18, Math.max(0, 5 - Math.floor(Math.log10(greatest || 1))));
  return new Intl.NumberFormat('en', { minimumFractionDigits: digits, maximumFractionDigits: digits }).format;
}

/** Formats the age of a clock, always as precisely, so that it does not jump. */
export const tellAge = (seconds: number): string => `${seconds.toFixed(1)} s`;

export function tellSeconds(seconds: number | undefined): string {
  if (seconds === undefined) return '–';
  return seconds < 1 ? `${Math.round(seconds * 1000)} ms` : tellAge(seconds);
}

/** The greatest time that a date can have. */
const DATE_MS_MAX = 8.64e15;

/** Formats a time in UTC. */
export const tellTime = (ms: number): string =>
  ms > DATE_MS_MAX ? 'never' : new Date(ms).toISOString().replace('T', ' ').slice(0, 19);
