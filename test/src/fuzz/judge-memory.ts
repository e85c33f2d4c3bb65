/** Memory of a process. */
export interface MemoryReading {
  readonly atRequest: number;
  /** Resident, 10^6 bytes; zero where there is no `/proc`. */
  readonly rssMb: number;
  /** In use on the heap of V8; zero of a process without metrics. */
  readonly heapMb: number;
}

/** Fewer readings say nothing: a process that has just started grows. */
const READINGS_MIN = 12;
const FACTOR_MAX = 1.25;
const SPARE_MB = 30;

/** @returns how a process grew from the second quarter of its readings to the last; undefined where its memory is flat */
export function findGrowth(readings: readonly MemoryReading[]): string | undefined {
  if (readings.length < READINGS_MIN) return undefined;
  const quarter = readings.length >> 2;
  const meanOf = (part: readonly MemoryReading[]) => part.reduce((sum, { rssMb }) => sum + rssMb, 0) / part.length;
  const before = meanOf(readings.slice(quarter, 2 * quarter));
  const after = meanOf(readings.slice(-quarter));
  const isFlat = after <= before * FACTOR_MAX + SPARE_MB;
  return isFlat ? undefined : `from ${Math.round(before)} MB to ${Math.round(after)} MB`;
}
