/** A maker's budget: it fills at a steady rate up to its burst. */
export interface Budget {
  readonly ratePerSecond: number;
  readonly burst: number;
}
