import type { Address, Hex } from '@makerbook/contracts-primitives';
import type { BudgetName, Decision, HashKey, HashRows, Standing } from '@makerbook/domain';

/** What to read for some requests. */
export interface Wanted {
  /** Sorted by address. Counts expired orders if more than `countExpiredBeyond` are open and in flight. */
  readonly makers: readonly { readonly maker: Address; readonly countExpiredBeyond: number }[];
  /** What to read about the makers besides their budgets. */
  readonly isPlacing: boolean;
  readonly isInstructing: boolean;
  readonly isCancellingAll: boolean;
  /** Hashes to place, to replace, or to cancel without being known. */
  readonly hashes: readonly HashKey[];
  /** The hashes to replace: how much is left of their orders is read. */
  readonly replaced: readonly Hex[];
}

/** The version of each budget that has a row. Each write changes it, and no version is used twice. */
export type Versions = ReadonlyMap<string, number>;

export const budgetKey = (maker: Address, of: BudgetName): string => `${maker} ${of}`;

/** What was read in one snapshot. */
export interface Reading {
  readonly standing: Standing;
  readonly versions: Versions;
  /** The clock of the store. */
  readonly clockMs: number;
  /** The same, but never below the newest time that a row holds: a broker's clock may be ahead. */
  readonly nowMs: number;
}

/** The decisions of requests that share makers: all of them are stored, or none. */
export type Group = readonly { readonly requestId: string; readonly decisions: readonly Decision[] }[];

/** Reads, and writes if nothing has changed since. */
export interface ReadAndWrite {
  read(wanted: Wanted): Promise<Reading>;
  /**
   * Stores each group if the budgets that it charges still have the versions that were read, nothing was lost, what it
   * replaces is unchanged, and no other request has placed or noted one of its hashes.
   * @returns for each group whether it is stored. Throws if that is unknown.
   */
  write(reading: Reading, groups: readonly Group[]): Promise<readonly boolean[]>;
}

/** Whether this server may be trusted, and since when it has lost nothing, as far as known. */
export interface Trust {
  readonly sinceMs: number;
  readonly isTrusted: boolean;
}

/** The store in Postgres by which ingress decides. It compares and stores. Every call throws what `Postgres` throws. */
export interface Store extends ReadAndWrite {
  /** Reads and writes while nobody else can charge these makers. Waits for the locks a second at most. */
  alone<T>(makers: readonly Address[], work: (locked: ReadAndWrite) => Promise<T>): Promise<T>;
  /** The rows of hashes, in their order. */
  findHashes(orderHashes: readonly Hex[]): Promise<FoundRows>;
  /**
   * The orders of a maker with one of these salts that are open, in flight, or held by a quarantine.
   * @returns `untrusted` if rows may be missing
   */
  findBySalts(wanted: WantedSalts): Promise<readonly FoundBySalt[] | 'untrusted'>;
  /** Tells by the folded history whether the book never had any of these orders. */
  wereNeverInBook(orderHashes: readonly Hex[]): Promise<boolean>;
  /** Notes that hashes were told unknown, if nothing was lost since and no request has placed them. */
  note(orderHashes: readonly Hex[], trustedSinceMs: number, nowMs: number): Promise<void>;
  /**
   * Deletes the rows of the orders that a request has placed, and the marks of those that it cancels. Call it only if
   * the append has certainly stored nothing. The id is the client's, which may use it for several requests.
   */
  release(requestId: string, placed: readonly Hex[], marked: readonly Hex[]): Promise<void>;
  /** Deletes notes that are older than this. */
  forgetNotes(olderThanMs: number): Promise<void>;
  /** If the server has no row, or another start time, notes that it may have lost something by now. */
  beginTrust(): Promise<Trust>;
  /** Marks the server as trusted, unless it has lost something since. */
  endTrust(sinceMs: number): Promise<void>;
}

export interface WantedSalts {
  readonly maker: Address;
  /** Minimal hex. */
  readonly salts: readonly Hex[];
  /** Leaves out orders that were accepted later. */
  readonly untilMs: number;
  /** How long an order counts as in flight: from its acceptance to the `untilMs` of its row. */
  readonly lastsMs: number;
}

export interface FoundBySalt {
  readonly orderHash: Hex;
  readonly salt: Hex;
  readonly expiresAtSeconds: number;
  /** True if an earlier cancellation of the order is in flight. */
  readonly isCancelling: boolean;
}

export interface FoundRows extends Pick<Reading, 'nowMs'>, Pick<Standing, 'trustedSinceMs'> {
  readonly rows: readonly HashRows[];
}
