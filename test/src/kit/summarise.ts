/** The middle value. For an even count, the upper one of the two. */
export function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}

/** The value that this share (0 to 1) of all values does not exceed. NaN if there are none. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export function round(value: number, digits = 0): number {
  return Number(value.toFixed(digits));
}

export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
