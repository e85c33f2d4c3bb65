import type { Address, Hex } from '@makerbook/contracts-primitives';
import type { BudgetName, Decision, HashKey, HashRows, Standing } from '@makerbook/domain';

/** What is to be read for some requests. */
export interface Wanted {
  /** By address, with the number of orders, open and in flight, beyond which the expired ones are counted. */
  readonly makers: readonly { readonly maker: Address; readonly countExpiredBeyond: number }[];
  /** What is asked of the makers besides their budgets. */
  readonly isPlacing: boolean;
  readonly isInstructing: boolean;
  readonly isCancellingAll: boolean;
  /** Hashes to be placed, to be replaced, or to be cancelled without being known. */
  readonly hashes: readonly HashKey[];
  /** Those of them that are to be replaced: how much is left of their orders is read. */
  readonly replaced: readonly Hex[];
}

/** The version of each budget that has a row. Whoever writes raises it, and no version is used twice. */
export type Versions = ReadonlyMap<string, number>;

export const budgetKey = (maker: Address, of: BudgetName): string => `${maker} ${of}`;

/** What was read, at one moment. */
export interface Reading {
  readonly standing: Standing;
  readonly versions: Versions;
  /** The clock of the store. */
  readonly clockMs: number;
  /** That, but never below the newest time that a row holds: a broker's clock may be ahead. */
  readonly nowMs: number;
}

/** The decisions of requests that share makers: all of them are stored, or none. */
export type Group = readonly { readonly requestId: string; readonly decisions: readonly Decision[] }[];

/** Reads, and writes where nothing has changed since. */
export interface ReadAndWrite {
  read(wanted: Wanted): Promise<Reading>;
  /**
   * Stores each group where the versions of the budgets that it charges are as they were read, nothing was lost, what
   * it replaces is as it was, and no other request has placed or noted one of its hashes.
   * @returns for each group whether it is stored. It throws where that is not known.
   */
  write(reading: Reading, groups: readonly Group[]): Promise<readonly boolean[]>;
}

/** Whether this server may be trusted, and since when it has lost nothing, as far as is known. */
export interface Trust {
  readonly sinceMs: number;
  readonly isTrusted: boolean;
}

/** What is decided by, in Postgres: it compares and stores. Every call throws what `Postgres` throws. */
export interface Store extends ReadAndWrite {
  /** The same while nobody else can charge these makers. It waits for that a second at most. */
  alone<T>(makers: readonly Address[], work: (locked: ReadAndWrite) => Promise<T>): Promise<T>;
  /** The rows of hashes, in their order. */
  findHashes(orderHashes: readonly Hex[]): Promise<FoundRows>;
  /**
   * The orders of a maker with one of these salts that are open, on their way, or held by a quarantine.
   * @returns `untrusted` where rows may be missing
   */
  findBySalts(wanted: WantedSalts): Promise<readonly FoundBySalt[] | 'untrusted'>;
  /** Tells by the folded history whether the book never had any of these orders. */
  wereNeverInBook(orderHashes: readonly Hex[]): Promise<boolean>;
  /** Notes that hashes were told unknown, where nothing was lost since and no request has placed them. */
  note(orderHashes: readonly Hex[], trustedSinceMs: number, nowMs: number): Promise<void>;
  /**
   * The append of a request has certainly stored nothing: deletes the rows of the orders that it has placed, and the
   * marks of those that it cancels. The id is the client's, which may use it for several requests.
   */
  release(requestId: string, placed: readonly Hex[], marked: readonly Hex[]): Promise<void>;
  /** Deletes notes that are older. */
  forgetNotes(olderThanMs: number): Promise<void>;
  /** Notes that a server that has no row, or another start time, may have lost something by now. */
  beginTrust(): Promise<Trust>;
  /** The server is trusted, unless it has lost something since. */
  endTrust(sinceMs: number): Promise<void>;
}

export interface WantedSalts {
  readonly maker: Address;
  /** Minimal hex. */
  readonly salts: readonly Hex[];
  /** Orders that were accepted later are not wanted. */
  readonly untilMs: number;
  /** How long an order counts as on its way: from its acceptance to the `untilMs` of its row. */
  readonly lastsMs: number;
}

export interface FoundBySalt {
  readonly orderHash: Hex;
  readonly salt: Hex;
  readonly expiresAtSeconds: number;
  /** An earlier cancellation of it is on its way. */
  readonly isCancelling: boolean;
}

export interface FoundRows extends Pick<Reading, 'nowMs'>, Pick<Standing, 'trustedSinceMs'> {
  readonly rows: readonly HashRows[];
}
