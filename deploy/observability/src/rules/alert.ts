/** Wakes a person; or is looked at in working hours. */
export type Severity = 'page' | 'ticket';

/** Series by their name and labels, with values as promtool writes them (`0x10`: eleven zeros), one each minute. */
export type Series = Readonly<Record<string, string>>;

/** Series under which an alert fires at the end of the given minute, and others, close to them, under which it does not. */
export interface Proof {
  readonly fires: Series;
  readonly quiet: Series;
  readonly atMinute: number;
}

/** An alert, with its proof. Times in seconds. */
export interface Alert {
  readonly name: string;
  readonly severity: Severity;
  /** PromQL that has a result while something is wrong. */
  readonly expr: string;
  /** How long it must have one before anybody is told. */
  readonly forSeconds: number;
  /** One sentence: what is wrong, for whom. */
  readonly summary: string;
  readonly proof: Proof;
}

/** How a duration is written in PromQL: `90s`, `5m`, `3d`. */
export function duration(seconds: number): string {
  if (seconds % 86_400 === 0 && seconds > 0) return `${seconds / 86_400}d`;
  if (seconds % 3_600 === 0 && seconds > 0) return `${seconds / 3_600}h`;
  return seconds % 60 === 0 && seconds > 0 ? `${seconds / 60}m` : `${seconds}s`;
}

/**
 * Turns a number of seconds into a window, as `[5m]` of PromQL needs one.
 * A rehearsal passes one that makes all of them shorter.
 */
export type Window = (seconds: number) => string;
