import type { Hex } from '@makerbook/contracts-primitives';
import { HASH_MEMORY_SECONDS, hashKeyText, type Instruction } from '@makerbook/domain';
import type { Send } from '@makerbook/parts';
import {
  type FillRow,
  type FundingRow,
  type HashKey,
  type HashRow,
  type HistoryRow,
  InvariantBroken,
  type MakerRow,
  type OrderRow,
  PostgresUnavailable,
  type Projection,
  type RowsPosition,
} from '@makerbook/postgres';
import { type ProjectionStore, startOfRows } from '../store/open-store.js';
import { PositionTaken, type ProjectionCommit } from '../store/save-projection.js';

/** What ingress writes about an order or a cancellation whose append is in flight. */
export interface InFlight extends HashKey {
  readonly salt: string;
  readonly expiresAtSeconds: number;
  readonly untilMs: number;
  readonly requestId: string;
  /** Set for a standing instruction. */
  readonly instruction?: Instruction | undefined;
}

/** The tables. They are never changed in place, so a reference is a copy. */
export interface Tables {
  readonly projection: Projection;
  readonly makers: ReadonlyMap<Hex, MakerRow>;
  readonly funding: ReadonlyMap<string, FundingRow>;
  readonly orders: ReadonlyMap<Hex, OrderRow>;
  readonly history: readonly HistoryRow[];
  readonly fills: ReadonlyMap<string, FillRow>;
  /** Keyed by hash and maker, like `inFlight`. */
  readonly hashes: ReadonlyMap<string, HashRow>;
  readonly inFlight: ReadonlyMap<string, InFlight>;
  readonly cancelling: readonly InFlight[];
}

export const noTables: Tables = {
  projection: startOfRows,
  makers: new Map(),
  funding: new Map(),
  orders: new Map(),
  history: [],
  fills: new Map(),
  hashes: new Map(),
  inFlight: new Map(),
  cancelling: [],
};

/**
 * The read model in memory, with the promises of Postgres: a commit is whole, and of two from one position one
 * succeeds.
 */
export class RowsInMemory {
  /** Planted defects: promises that it does not keep. */
  static ignoresPositions = false;
  static splitsCommits = false;
  static forgetsTooEarly = false;
  tables: Tables = noTables;
  isAway = false;
  #serverStartedAt = 0n;
  readonly #onCommit: () => void;

  constructor(onCommit: () => void = () => undefined) {
    this.#onCommit = onCommit;
  }

  /** Restarts the server without its last commits and what is not logged. @param tables what is left */
  crash(tables: Tables): void {
    this.#serverStartedAt += 1n;
    this.tables = { ...tables, inFlight: new Map(), cancelling: [] };
  }

  /** Does what ingress does before it appends an order. @returns false if the hash is in flight already */
  place(row: InFlight): boolean {
    const { inFlight } = this.tables;
    if (inFlight.has(hashKeyText(row))) return false;
    this.tables = { ...this.tables, inFlight: new Map(inFlight).set(hashKeyText(row), row) };
    return true;
  }

  cancel(row: InFlight): void {
    this.tables = { ...this.tables, cancelling: [...this.tables.cancelling, row] };
  }

  /** Does what ingress does after an append that certainly failed. */
  forget(isPlaced: (row: InFlight) => boolean, isMarked: (row: InFlight) => boolean): void {
    const inFlight = new Map([...this.tables.inFlight].filter(([, row]) => !isPlaced(row)));
    this.tables = { ...this.tables, inFlight, cancelling: this.tables.cancelling.filter((row) => !isMarked(row)) };
  }

  /** Deletes the hashes that may be forgotten. A maker in quarantine keeps all. */
  prune(): void {
    const { makers } = this.tables;
    const isKept = (row: HashRow) => (makers.get(row.maker)?.quarantinedOffset ?? null) !== null;
    const hashes = [...this.tables.hashes].filter(([, row]) => isKept(row) || !mayBeForgotten(row, this.tables));
    this.tables = { ...this.tables, hashes: new Map(hashes) };
  }

  connect(send: Send): ProjectionStore {
    const ask = <T>(serve: () => T) =>
      send('rows', serve, (fate) => new PostgresUnavailable(`postgres: ${fate}`), { isAway: this.isAway });
    return {
      takeProjection: () => ask(() => this.#taken()),
      readMakers: (_, makers) => ask(() => this.#rowsOf(new Set(makers))),
      findKnownHashes: (_, keys) =>
        ask(() => {
          const { hashes, projection } = this.tables;
          const found = keys.flatMap((key) => hashes.get(hashKeyText(key)) ?? []);
          return { hashes: found.filter(({ state }) => state !== 'UNFOLDED'), positions: [projection] };
        }),
      saveProjection: async (commit) => {
        if (RowsInMemory.splitsCommits) {
          await ask(() => {
            const { projection } = this.#after(commit);
            this.tables = { ...this.tables, projection };
          });
        }
        const from = RowsInMemory.splitsCommits ? commit.to : commit.from;
        await ask(() => {
          this.tables = this.#after({ ...commit, from });
          this.#onCommit();
        });
      },
    };
  }

  #taken(): Awaited<ReturnType<ProjectionStore['takeProjection']>> {
    const { projection, makers } = this.tables;
    const rows = [...makers.values()];
    const quarantined = rows.flatMap(({ maker, quarantinedOffset: offset, quarantineReason, quarantineClock }) => {
      if (offset === null || quarantineReason === null || quarantineClock === null) return [];
      return [[maker, { offset, reason: quarantineReason, clock: quarantineClock }] as const];
    });
    return {
      projection,
      serverStartedAt: this.#serverStartedAt,
      due: rows.flatMap(({ maker, dueAtSeconds, openOrders }) => {
        return dueAtSeconds === null ? [] : [{ maker, dueAtSeconds, openOrders }];
      }),
      quarantined: new Map(quarantined),
    };
  }

  #rowsOf(asked: ReadonlySet<Hex>) {
    const { makers, funding, orders, projection } = this.tables;
    const own = ({ maker }: { readonly maker: Hex }) => asked.has(maker);
    return {
      makers: [...makers.values()].filter(own),
      funding: [...funding.values()].filter(own),
      orders: [...orders.values()].filter(own).sort((a, b) => (a.acceptedOffset < b.acceptedOffset ? -1 : 1)),
      positions: [projection],
    };
  }

  #after(commit: ProjectionCommit): Tables {
    const { from, to } = commit;
    const { projection } = this.tables;
    if (!isSame(projection, from) && !RowsInMemory.ignoresPositions) {
      throw new PositionTaken(`the rows are at ${projection.nextOffset}, part ${projection.blockParts}`);
    }
    const makers = new Map(this.tables.makers);
    const funding = new Map(this.tables.funding);
    const orders = new Map(this.tables.orders);
    const hashes = new Map(this.tables.hashes);
    const inFlight = new Map(this.tables.inFlight);
    const fills = new Map(this.tables.fills);
    for (const row of commit.fills) {
      const key = `${row.blockNumber} ${row.logIndex}`;
      if (!fills.has(key)) fills.set(key, row);
    }
    for (const row of commit.makers) makers.set(row.maker, row);
    for (const { maker, token } of commit.fundingDropped) funding.delete(`${maker} ${token}`);
    for (const row of commit.funding) funding.set(`${row.maker} ${row.token}`, row);
    for (const orderHash of commit.removed) orders.delete(orderHash);
    for (const row of commit.opened) {
      refuseUnless(!orders.has(row.orderHash), `${row.orderHash} is there already`);
      orders.set(row.orderHash, row);
    }
    for (const state of commit.changed) {
      const row = orders.get(state.orderHash);
      if (row !== undefined) orders.set(state.orderHash, { ...row, ...state });
    }
    for (const row of commit.hashes) {
      if (row.state !== 'UNFOLDED' || !hashes.has(hashKeyText(row))) hashes.set(hashKeyText(row), row);
    }
    for (const key of commit.submitted) inFlight.delete(hashKeyText(key));
    const settled = new Set(commit.settled.map(hashKeyText));
    const hasEnded = ({ untilMs }: InFlight) =>
      commit.forgetsEnded && (untilMs < to.clockMs || RowsInMemory.forgetsTooEarly);
    for (const [key, row] of inFlight) if (hasEnded(row)) inFlight.delete(key);
    assertInvariants(commit);
    return {
      projection: to,
      makers,
      funding,
      orders,
      history: [...this.tables.history, ...commit.history],
      fills,
      hashes,
      inFlight,
      cancelling: this.tables.cancelling.filter((row) => !settled.has(hashKeyText(row)) && !hasEnded(row)),
    };
  }
}

/** True if the fold counts the hash as forgotten, by the rows. */
export function mayBeForgotten(row: HashRow, { makers, projection }: Tables): boolean {
  const { nonce = null } = makers.get(row.maker) ?? {};
  const isPassed = row.nonce !== null && nonce !== null && BigInt(row.nonce) < BigInt(nonce);
  return (
    (isPassed && row.keptUntilSeconds <= projection.clock.seconds) ||
    row.expiresAtSeconds <= projection.clock.seconds - HASH_MEMORY_SECONDS
  );
}

function isSame(one: RowsPosition, other: RowsPosition): boolean {
  return one.nextOffset === other.nextOffset && one.blockParts === other.blockParts;
}

/** Makes some of the checks of `schema.txt`. */
function assertInvariants({ makers, funding, opened, hashes }: ProjectionCommit): void {
  for (const { dueAtSeconds, quarantinedOffset } of makers) {
    refuseUnless(quarantinedOffset === null || dueAtSeconds === null, 'a quarantined maker is due');
  }
  for (const { openOrders } of funding) refuseUnless(openOrders > 0, 'funds of no order');
  for (const { status, reason, isObserved, remaining } of opened) {
    refuseUnless((reasons[status] ?? []).includes(reason), 'a status and its reason');
    refuseUnless(isObserved || status === 'VALIDATING', 'never read, and judged');
    refuseUnless(BigInt(remaining) > 0n, 'nothing left to fill');
  }
  for (const { state, salt } of hashes)
    refuseUnless((state === 'UNFOLDED') === (salt !== null), 'UNFOLDED and its salt');
}

const reasons: Readonly<Record<string, readonly (string | null)[]>> = {
  VALIDATING: [null, 'FUNDS', 'SIGNATURE', 'TAKING_TOKEN'],
  ACTIVE: [null],
  INACTIVE: ['INSUFFICIENT_ALLOWANCE', 'INSUFFICIENT_BALANCE'],
};

function refuseUnless(isRight: boolean, what: string): void {
  if (!isRight) throw new InvariantBroken(`the read model refused a row: ${what}`);
}
