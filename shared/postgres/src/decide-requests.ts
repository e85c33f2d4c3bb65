import type { Hex } from '@makerbook/contracts-primitives';
import type { Budget } from '@makerbook/domain';
import { encodeArray } from './binary-array.js';
import { byteaOf, type Postgres } from './connect-postgres.js';
import { PostgresUnavailable } from './failures.js';
import { gatherCalls } from './gather-calls.js';
import { type Decision, mergeMakers, shareStatements } from './share-statements.js';

/** A maker of a request with the limits that count for it. */
export interface PlacingMaker {
  readonly maker: Hex;
  readonly partition: number;
  readonly budget: Budget;
  readonly openOrdersMax: number;
}

export interface OrderToPlace {
  readonly orderHash: Hex;
  /** Its maker, as an index into `makers`. */
  readonly makerIndex: number;
  /** As a response has it: minimal hex. */
  readonly salt: Hex;
  readonly nonce: bigint;
  /** At most 2^53 - 1. */
  readonly expiresAtSeconds: number;
}

/** Times are milliseconds since 1970 by the clock of the caller. */
export interface PlaceRequest {
  readonly nowMs: number;
  /** When the request was received: a hash that was told unknown since then is not placed. */
  readonly receivedAtMs: number;
  /** The append of these orders has ended this long after now, whatever became of it. */
  readonly lastsMs: number;
  /** In the order of their addresses. */
  readonly makers: readonly PlacingMaker[];
  /** In the order of the request. */
  readonly orders: readonly OrderToPlace[];
  /** Hashes that a maker may have in memory that are not forgotten yet. */
  readonly rememberedMax: number;
  /** True when a check that follows the budgets has failed already: the orders are charged, and not placed. */
  readonly chargeOnly: boolean;
  /** The first item that repeats an earlier hash of the request, if any. */
  readonly firstRepeatAt: number | undefined;
  /** It stands for several requests: a refusal charges nothing, for each of them is decided by itself afterwards. Default false. */
  readonly isMerged?: boolean;
}

/**
 * `index` is the item of the request that failed; `remaining` is what is left of each maker's budget.
 * - `untrusted`: Postgres may have lost what was in flight; nothing is decided before that has been folded.
 * - `quarantined`: what a maker has sent is not folded, and so not known.
 * - `in_flight`: another request with the same hash has not ended.
 * - `told_unknown`: a DELETE was told that the hash is unknown, after this request was received.
 * - `nonce_passed`: the maker's nonce on the chain is above the order's. Hashes of such nonces are forgotten.
 * What anybody can repeat is not charged: orders of known hashes, and `nonce_passed`. The first three and `rate_limited`,
 * `over_budget` charge nothing.
 */
export type PlaceOutcome =
  | { readonly kind: 'untrusted' | 'quarantined' }
  | { readonly kind: 'in_flight'; readonly index: number }
  | {
      readonly kind: 'placed';
      /** By then the append has ended, by the clock of the rows. */
      readonly untilMs: number;
      readonly remaining: readonly number[];
    }
  | {
      readonly kind: 'rate_limited';
      readonly index: number;
      /** When the whole request fits. */
      readonly retryAfterMs: number;
      readonly remaining: readonly number[];
    }
  | {
      readonly kind: 'charged';
      /** How many of the orders have known hashes. */
      readonly known: number;
      readonly remaining: readonly number[];
    }
  | {
      readonly kind: 'duplicate';
      readonly index: number;
      /** How many of the orders have known hashes; 0 where the request alone has one twice. */
      readonly known: number;
      readonly remaining: readonly number[];
    }
  | {
      readonly kind: 'over_budget' | 'told_unknown' | 'nonce_passed';
      readonly index: number;
      readonly remaining: readonly number[];
    }
  | {
      readonly kind: 'too_many_open' | 'too_many_remembered';
      readonly index: number;
      /** What the maker has already. */
      readonly count: number;
      readonly remaining: readonly number[];
    };

/** What is known of a hash that is to be cancelled. See `find_orders` in the migrations. */
export type FoundHash =
  | {
      readonly state: 'FOUND';
      readonly maker: Hex;
      readonly salt: Hex;
      readonly expiresAtSeconds: number;
      /** It is not known yet whether the log has it. */
      readonly isInFlight: boolean;
    }
  | { readonly state: 'GONE' | 'UNKNOWN' | 'UNSURE' };

/** How much of an order is to be filled. */
export interface OrderAmounts {
  readonly making: bigint;
  /** Of `making`, as far as the fold has seen. */
  readonly remaining: bigint;
}

export interface MarkRequest {
  readonly nowMs: number;
  /** The append of the cancellations has ended this long after now. */
  readonly lastsMs: number;
  readonly budget: Budget;
  /** In the order of their addresses. */
  readonly makers: readonly { readonly maker: Hex; readonly partition: number }[];
  readonly hashes: readonly { readonly orderHash: Hex; readonly makerIndex: number }[];
  /** Mark nothing where another request has marked one of them, or one is not open any more. Default false. */
  readonly isFirst?: boolean;
}

/** A standing instruction of a maker: its switch, its keys, its cap of a token. */
export interface Instruction {
  /** Of one subject of a maker one instruction counts: see `subjectOf` of the domain. */
  readonly subject: string;
  readonly issuedAtMs: number;
  /** What it sets, as the maker's row names it. */
  readonly terms: object;
  /** The key that signed it for the maker. */
  readonly key?: Hex | undefined;
}

export interface InstructRequest extends Pick<MarkRequest, 'nowMs' | 'lastsMs' | 'budget'> {
  readonly maker: Hex;
  readonly partition: number;
  /** How many cancellations it costs. 0 only asks whether one that was taken before still counts. */
  readonly count: 0 | 1;
  /** Names it, so that a list waits for it. */
  readonly mark: Hex;
  readonly instruction: Instruction;
  /** Caps that a maker may have. */
  readonly capsMax: number;
}

/**
 * `remaining`: what is left of the maker's budget.
 * - `taken`: it counts from now on, unless `isKnown` is false: the log may have a newer one.
 * - `superseded`: `counts` does, with the terms of the same subject.
 * - `unknown_key`: by these rows the key may not cancel for the maker.
 * - `too_many_caps`: the maker has as many of other tokens.
 */
export type InstructOutcome = { readonly remaining: readonly number[] } & (
  | { readonly kind: 'taken'; readonly untilMs: number; readonly isKnown: boolean }
  | { readonly kind: 'superseded'; readonly counts: object }
  | { readonly kind: 'rate_limited'; readonly retryAfterMs: number }
  | { readonly kind: 'unknown_key' | 'too_many_caps' }
);

/** Cancellations of hashes that nobody has placed, as far as is known. */
export interface MarkUnplacedRequest extends Pick<MarkRequest, 'nowMs' | 'lastsMs'> {
  readonly maker: Hex;
  readonly partition: number;
  /** Of orders. */
  readonly budget: Budget;
  readonly rememberedMax: number;
  /** Each once. */
  readonly orderHashes: readonly Hex[];
}

/** `remaining`: what is left of the maker's budget of orders. */
export type MarkUnplacedOutcome = { readonly remaining: number } & (
  | { readonly kind: 'marked'; readonly untilMs: number }
  | { readonly kind: 'rate_limited'; readonly retryAfterMs: number }
  | { readonly kind: 'over_budget' }
  | {
      readonly kind: 'too_many_remembered';
      /** What is remembered already. */
      readonly count: number;
    }
);

/** What a maker does to all of its orders at once. */
export interface MarkAllRequest extends Pick<MarkRequest, 'nowMs' | 'lastsMs' | 'budget'> {
  readonly maker: Hex;
  readonly partition: number;
  /** How many cancellations it costs. */
  readonly count: number;
  /** The open orders to mark: accepted by then, and of these tokens, where they are named. */
  readonly scope: {
    readonly untilMs: number;
    readonly making?: Hex | undefined;
    readonly taking?: Hex | undefined;
    /** Names the cancellation: marked too, so that a list waits for it. */
    readonly mark: Hex;
  };
}

/** `remaining`: what is left of each maker's budget. */
export type MarkOutcome =
  | { readonly kind: 'marked'; readonly untilMs: number; readonly remaining: readonly number[] }
  /** Another request cancels one of them, or has done so. */
  | { readonly kind: 'marked_already'; readonly remaining: readonly number[] }
  | {
      readonly kind: 'rate_limited';
      /** The maker whose budget does not hold so many. */
      readonly makerIndex: number;
      readonly retryAfterMs: number;
      readonly remaining: readonly number[];
    };

/** Whether this server may be trusted, and since when it has lost nothing, as far as is known. */
export interface Trust {
  readonly sinceMs: number;
  readonly isTrusted: boolean;
}

/** What Postgres decides about requests; each call is one statement. Every call throws what `Postgres` throws. */
export interface PlacementStore {
  place(request: PlaceRequest): Promise<PlaceOutcome>;
  /** The append has certainly stored nothing: deletes what `place` or `markCancelling` has written with this time. */
  release(orderHashes: readonly Hex[], untilMs: number): Promise<void>;
  /** In the order of the hashes. @param mayNote whether unknown hashes may be noted: without a note none is UNKNOWN */
  findOrders(orderHashes: readonly Hex[], nowMs: number, mayNote: boolean): Promise<readonly FoundHash[]>;
  markCancelling(request: MarkRequest): Promise<MarkOutcome>;
  markUnplaced(request: MarkUnplacedRequest): Promise<MarkUnplacedOutcome>;
  /** In the order of the hashes; undefined for one that is not open, or that the fold has not seen. */
  readAmounts(orderHashes: readonly Hex[]): Promise<readonly (OrderAmounts | undefined)[]>;
  /** @returns with what is marked */
  markAll(request: MarkAllRequest): Promise<MarkOutcome & { readonly orderHashes: readonly Hex[] }>;
  /** Decides whether an instruction counts, and marks it. */
  instruct(request: InstructRequest): Promise<InstructOutcome>;
  /** Deletes notes of unknown hashes that are older. */
  forgetNotes(beforeMs: number): Promise<void>;
  /** Notes that a server that has no row, or another start time, may have lost something by now. */
  beginTrust(nowMs: number): Promise<Trust>;
  /** The server is trusted, unless it has lost something since. */
  endTrust(sinceMs: number): Promise<void>;
}

export function openPlacementStore(postgres: Pick<Postgres, 'query'>): PlacementStore {
  const find = findTogether(postgres);
  return {
    place: shareStatements(postgres, placing),
    async release(orderHashes, untilMs) {
      await postgres.query(releaseSql, [encodeArray('bytea', orderHashes), untilMs]);
    },
    findOrders: (orderHashes, nowMs, mayNote) => find({ orderHashes, nowMs, mayNote }),
    markCancelling: shareStatements(postgres, marking),
    markUnplaced: (request) => markUnplaced(postgres, request),
    async readAmounts(orderHashes) {
      const rows = await postgres.query<AmountsRow>(amountsSql, [encodeArray('bytea', orderHashes)], 'read amounts');
      const amounts = new Map(
        rows.map(({ order_hash, making_amount, remaining }) => {
          return [order_hash, { making: BigInt(making_amount), remaining: BigInt(remaining) }];
        }),
      );
      return orderHashes.map((orderHash) => amounts.get(orderHash));
    },
    markAll: (request) => markAll(postgres, request),
    instruct: (request) => instruct(postgres, request),
    async forgetNotes(beforeMs) {
      await postgres.query('delete from in_flight where partition is null and until_ms < $1', [beforeMs]);
    },
    async beginTrust(nowMs) {
      const [row] = await postgres.query<{ since_ms: bigint; is_trusted: boolean }>(beginTrustSql, [nowMs]);
      if (row === undefined) throw new PostgresUnavailable('another process notes the same: try again');
      return { sinceMs: Number(row.since_ms), isTrusted: row.is_trusted };
    },
    async endTrust(sinceMs) {
      const sql = 'update trust set is_trusted = true where started_at = pg_postmaster_start_time() and since_ms = $1';
      await postgres.query(sql, [sinceMs]);
    },
  };
}

interface AmountsRow {
  readonly order_hash: Hex;
  readonly making_amount: string;
  readonly remaining: string;
}

const amountsSql = 'select order_hash, making_amount, remaining from orders where order_hash = any($1::bytea[])';

const releaseSql = `
  with placed as (delete from in_flight where order_hash = any($1::bytea[]) and until_ms = $2)
  delete from cancelling where order_hash = any($1::bytea[]) and until_ms = $2`;

// What was in flight survives a clean restart, and a crash empties the table: only then the time begins anew. It is never later than
// the server's clock: by an ingress whose clock is ahead, every request would be refused until the other clocks have come so far.
const beginTrustSql = `
  with begun as (
    insert into trust (started_at, table_id, since_ms, is_trusted)
    values (pg_postmaster_start_time(), 'trust'::regclass,
      least($1::bigint, (extract(epoch from clock_timestamp()) * 1000)::bigint), false)
    on conflict (is_only) do update
    set started_at = excluded.started_at, table_id = excluded.table_id, is_trusted = false
    where (trust.started_at, trust.table_id) <> (excluded.started_at, excluded.table_id)
    returning since_ms, is_trusted)
  select since_ms, is_trusted from begun
  union all
  select since_ms, is_trusted from trust
  where started_at = pg_postmaster_start_time() and table_id = 'trust'::regclass and not exists (select from begun)`;

const placing: Decision<PlaceRequest, PlacedRow, PlaceOutcome> = {
  name: 'place',
  columns: 'outcome, at, figure, remaining',
  sizeOf: ({ orders }) => orders.length,
  valuesOf: placeValues,
  outcomeOf,
  merge: mergePlacements,
  isGranted: ({ outcome }) => outcome === 'placed',
};

function mergePlacements(requests: readonly PlaceRequest[]): PlaceRequest | undefined {
  const [first] = requests;
  const { makers, places } = mergeMakers(requests);
  const orders = requests.flatMap((request, at) =>
    request.orders.map((order) => ({ ...order, makerIndex: places[at] ?? 0 })),
  );
  const isPlain = requests.every(({ chargeOnly, firstRepeatAt }) => !chargeOnly && firstRepeatAt === undefined);
  if (first === undefined || !isPlain || new Set(hashesOf(orders)).size < orders.length) return undefined;
  const nowMs = Math.max(...requests.map((request) => request.nowMs));
  const receivedAtMs = Math.min(...requests.map((request) => request.receivedAtMs));
  return { ...first, nowMs, receivedAtMs, makers, orders, isMerged: true };
}

function placeValues(request: PlaceRequest): unknown[] {
  const { makers, orders } = request;
  return [
    request.nowMs,
    request.receivedAtMs,
    request.lastsMs,
    request.chargeOnly,
    request.firstRepeatAt ?? -1,
    request.isMerged === true,
    ...makersOf(makers),
    makers.map(({ budget }) => budget.ratePerSecond),
    makers.map(({ budget }) => budget.burst),
    makers.map(({ openOrdersMax }) => openOrdersMax),
    request.rememberedMax,
    orders.map(({ makerIndex }) => makerIndex + 1),
    encodeArray('bytea', hashesOf(orders)),
    orders.map(({ salt }) => salt),
    orders.map(({ expiresAtSeconds }) => expiresAtSeconds),
    orders.map(({ nonce }) => nonce),
  ];
}

interface PlacedRow {
  readonly outcome: PlaceOutcome['kind'];
  readonly at: number | null;
  readonly figure: bigint;
  readonly remaining: readonly number[];
}

function outcomeOf({ outcome: kind, at, figure, remaining }: PlacedRow): PlaceOutcome {
  const index = at ?? 0;
  switch (kind) {
    case 'untrusted':
    case 'quarantined':
      return { kind };
    case 'in_flight':
      return { kind, index };
    case 'placed':
      return { kind, untilMs: Number(figure), remaining };
    case 'charged':
      return { kind, known: Number(figure), remaining };
    case 'rate_limited':
      return { kind, index, retryAfterMs: Number(figure), remaining };
    case 'duplicate':
      return { kind, index, known: Number(figure), remaining };
    case 'over_budget':
    case 'told_unknown':
    case 'nonce_passed':
      return { kind, index, remaining };
    case 'too_many_open':
    case 'too_many_remembered':
      return { kind, index, count: Number(figure), remaining };
  }
}

interface Lookup {
  readonly orderHashes: readonly Hex[];
  readonly nowMs: number;
  readonly mayNote: boolean;
}

/** Hashes in a statement that several look-ups share. */
const FOUND_TOGETHER_MAX = 64;

/** Look-ups that arrive while one runs share the next statement. The newest time holds for all: none of them is answered yet. */
function findTogether(postgres: Pick<Postgres, 'query'>): (lookup: Lookup) => Promise<readonly FoundHash[]> {
  return gatherCalls({
    atOnceMax: 1,
    count(waiting) {
      let hashes = 0;
      const end = waiting.findIndex(({ orderHashes, mayNote }) => {
        hashes += orderHashes.length;
        return hashes > FOUND_TOGETHER_MAX || mayNote !== waiting[0]?.mayNote;
      });
      return end === -1 ? waiting.length : Math.max(1, end);
    },
    compare: () => 0,
    async decide(lookups: readonly Lookup[]) {
      const hashes = lookups.flatMap(({ orderHashes }) => orderHashes);
      const nowMs = Math.max(...lookups.map((lookup) => lookup.nowMs));
      const found = await findOrders(postgres, hashes, nowMs, lookups[0]?.mayNote === true);
      let end = 0;
      return lookups.map(({ orderHashes }) => {
        end += orderHashes.length;
        return found.slice(end - orderHashes.length, end);
      });
    },
    isOfOne: () => false,
  });
}

async function findOrders(
  postgres: Pick<Postgres, 'query'>,
  orderHashes: readonly Hex[],
  nowMs: number,
  mayNote: boolean,
): Promise<readonly FoundHash[]> {
  const values = [nowMs, mayNote, encodeArray('bytea', orderHashes)];
  const rows = await postgres.query<FoundRow>('select * from find_orders($1, $2, $3)', values, 'find orders');
  return rows.map(({ state, maker, salt, expires_at_seconds, is_flying: isInFlight }) =>
    state === 'FOUND' ? { state, maker, salt, expiresAtSeconds: Number(expires_at_seconds), isInFlight } : { state },
  );
}

interface FoundRow {
  readonly state: FoundHash['state'];
  readonly maker: Hex;
  readonly salt: Hex;
  readonly expires_at_seconds: bigint;
  readonly is_flying: boolean;
}

const marking: Decision<MarkRequest, MarkedRow, MarkOutcome> = {
  name: 'mark_cancelling',
  columns: 'refused, figure, remaining',
  sizeOf: ({ hashes }) => hashes.length,
  valuesOf: ({ nowMs, lastsMs, budget, makers, hashes, isFirst = false }) => [
    ...[nowMs, lastsMs, budget.ratePerSecond, budget.burst],
    ...makersOf(makers),
    hashes.map(({ makerIndex }) => makerIndex + 1),
    encodeArray('bytea', hashesOf(hashes)),
    isFirst,
  ],
  outcomeOf: markOutcome,
  merge: mergeMarks,
  isGranted: ({ refused }) => refused === 0,
};

function mergeMarks(requests: readonly MarkRequest[]): MarkRequest | undefined {
  const [first] = requests;
  if (first === undefined || requests.some(({ isFirst }) => isFirst)) return undefined;
  const { makers, places } = mergeMakers(requests);
  const hashes = requests.flatMap((request, at) =>
    request.hashes.map((hash) => ({ ...hash, makerIndex: places[at] ?? 0 })),
  );
  return { ...first, nowMs: Math.max(...requests.map(({ nowMs }) => nowMs)), makers, hashes };
}

async function markUnplaced(
  postgres: Pick<Postgres, 'query'>,
  { nowMs, lastsMs, budget, rememberedMax, maker, partition, orderHashes }: MarkUnplacedRequest,
): Promise<MarkUnplacedOutcome> {
  const [row] = await postgres.query<UnplacedRow>(
    'select * from mark_unplaced($1, $2, $3, $4, $5, $6, $7, $8)',
    [
      ...[nowMs, lastsMs, budget.ratePerSecond, budget.burst, rememberedMax],
      ...[byteaOf(maker), partition, encodeArray('bytea', orderHashes)],
    ],
    'mark unplaced',
  );
  if (row === undefined) throw new Error('mark_unplaced returned no row');
  const { outcome: kind, remaining } = row;
  const figure = Number(row.figure);
  switch (kind) {
    case 'marked':
      return { kind, untilMs: figure, remaining };
    case 'rate_limited':
      return { kind, retryAfterMs: figure, remaining };
    case 'over_budget':
      return { kind, remaining };
    case 'too_many_remembered':
      return { kind, count: figure, remaining };
  }
}

interface UnplacedRow {
  readonly outcome: MarkUnplacedOutcome['kind'];
  readonly figure: bigint;
  readonly remaining: number;
}

async function markAll(
  postgres: Pick<Postgres, 'query'>,
  { nowMs, lastsMs, budget, count, maker, partition, scope }: MarkAllRequest,
): Promise<MarkOutcome & { readonly orderHashes: readonly Hex[] }> {
  const making = scope.making === undefined ? null : byteaOf(scope.making);
  const [row] = await postgres.query<MarkedRow & { readonly hashes: readonly Hex[] | null }>(
    'select * from mark_all($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)',
    [
      ...[nowMs, lastsMs, budget.ratePerSecond, budget.burst, count],
      ...[byteaOf(maker), partition, scope.untilMs, making, scope.taking ?? null, byteaOf(scope.mark)],
    ],
    'mark all',
  );
  if (row === undefined) throw new Error('mark_all returned no row');
  return { ...markOutcome(row), orderHashes: row.hashes ?? [] };
}

interface InstructedRow {
  readonly outcome: InstructOutcome['kind'];
  readonly figure: bigint;
  readonly remaining: readonly number[];
  readonly counts: object | null;
  readonly is_known: boolean;
}

async function instruct(
  postgres: Pick<Postgres, 'query'>,
  { nowMs, lastsMs, budget, count, maker, partition, mark, instruction, capsMax }: InstructRequest,
): Promise<InstructOutcome> {
  const [row] = await postgres.query<InstructedRow>(
    'select * from instruct($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)',
    [
      ...[nowMs, lastsMs, budget.ratePerSecond, budget.burst, count],
      ...[byteaOf(maker), partition, byteaOf(mark), JSON.stringify(instruction), capsMax],
    ],
    'instruct',
  );
  if (row === undefined) throw new Error('instruct returned no row');
  const { outcome: kind, figure, remaining, counts, is_known: isKnown } = row;
  switch (kind) {
    case 'taken':
      return { kind, untilMs: Number(figure), isKnown, remaining };
    case 'superseded':
      return { kind, counts: counts ?? {}, remaining };
    case 'rate_limited':
      return { kind, retryAfterMs: Number(figure), remaining };
    default:
      return { kind, remaining };
  }
}

interface MarkedRow {
  readonly refused: number;
  readonly figure: bigint;
  readonly remaining: readonly number[];
}

function markOutcome({ refused, remaining, ...row }: MarkedRow): MarkOutcome {
  const figure = Number(row.figure);
  if (refused === 0) return { kind: 'marked', untilMs: figure, remaining };
  if (refused < 0) return { kind: 'marked_already', remaining };
  return { kind: 'rate_limited', makerIndex: refused - 1, retryAfterMs: figure, remaining };
}

function makersOf(makers: readonly { readonly maker: Hex; readonly partition: number }[]): [string[], number[]] {
  return [makers.map(({ maker }) => byteaOf(maker)), makers.map(({ partition }) => partition)];
}

function hashesOf(hashes: readonly { readonly orderHash: Hex }[]): Hex[] {
  return hashes.map(({ orderHash }) => orderHash);
}
