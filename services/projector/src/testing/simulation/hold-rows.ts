import type { Hex } from '@makerbook/contracts-primitives';
import type { Send } from '@makerbook/parts';
import {
  type CancelledHashRow,
  type FundingRow,
  type HistoryRow,
  InvariantBroken,
  type MakerRow,
  type OrderRow,
  PositionTaken,
  PostgresUnavailable,
  type Projection,
  type ProjectionCommit,
  type ProjectionStore,
} from '@makerbook/postgres';

/** The tables, never changed in place: a copy of them is they themselves. */
export interface Tables {
  readonly projection: Projection;
  readonly makers: ReadonlyMap<Hex, MakerRow>;
  readonly funding: ReadonlyMap<string, FundingRow>;
  readonly orders: ReadonlyMap<Hex, OrderRow>;
  readonly history: readonly HistoryRow[];
  /** By hash. */
  readonly cancelled: ReadonlyMap<Hex, CancelledHashRow>;
}

export const noTables: Tables = {
  projection: {
    nextOffset: 0n,
    isBlockBegun: false,
    clock: { block: -1, seconds: 0 },
    version: 0n,
  },
  makers: new Map(),
  funding: new Map(),
  orders: new Map(),
  history: [],
  cancelled: new Map(),
};

/** The read model in memory, with what Postgres promises: a commit is whole, and one of several from the same place is made. */
export class RowsInMemory {
  /** Planted defects: promises that it does not keep. */
  static ignoresOwners = false;
  static splitsCommits = false;
  tables: Tables = noTables;
  /** Makers whose funding does not fit their orders. */
  readonly broken = new Set<Hex>();
  /** Makers whose removed orders are refused. */
  readonly refused = new Set<Hex>();
  isAway = false;
  /** In the place of the time, by which no version comes again. */
  #takes = 0n;
  readonly #onCommit: () => void;

  constructor(onCommit: () => void) {
    this.#onCommit = onCommit;
  }

  /** As a truncate does. */
  empty(): void {
    this.tables = noTables;
  }

  connect(send: Send): ProjectionStore {
    const ask = <T>(serve: () => T) =>
      send('rows', serve, (fate) => new PostgresUnavailable(`postgres: ${fate}`), { isAway: this.isAway });
    return {
      takeProjection: () =>
        ask(() => {
          const { projection } = this.tables;
          this.#takes += 1_000n;
          const version = projection.version + 2n < this.#takes ? this.#takes : projection.version + 2n;
          this.tables = { ...this.tables, projection: { ...projection, version } };
          return this.#taken();
        }),
      readProjection: () => ask(() => this.tables.projection),
      readMakers: (_, makers) => ask(() => this.#rowsOf(new Set(makers))),
      findKnownHashes: (_, keys) =>
        ask(() => {
          const { history, cancelled, projection } = this.tables;
          const asked = new Set(keys.map(({ orderHash }) => orderHash));
          const opened = history.filter(({ happened, orderHash }) => happened === 'OPENED' && asked.has(orderHash));
          return {
            accepted: new Set(opened.map(({ orderHash }) => orderHash)),
            cancelled: new Set([...asked].filter((orderHash) => cancelled.has(orderHash))),
            versions: [projection.version],
          };
        }),
      saveProjection: async (commit) => {
        if (RowsInMemory.splitsCommits) {
          await ask(() => {
            const { projection } = this.#after(commit);
            this.tables = { ...this.tables, projection: { ...projection, version: commit.version } };
          });
        }
        const from = RowsInMemory.splitsCommits ? commit.to : commit.from;
        await ask(() => {
          this.tables = this.#after({ ...commit, from });
          this.#onCommit();
        });
      },
      tryProjection: (commit) => ask(() => void this.#after(commit)),
    };
  }

  #taken(): Awaited<ReturnType<ProjectionStore['takeProjection']>> {
    const { projection, makers, orders } = this.tables;
    const rows = [...makers.values()];
    const quarantined = rows.flatMap(({ maker, quarantinedOffset: offset, quarantineReason, quarantineClock }) => {
      if (offset === null || quarantineReason === null || quarantineClock === null) return [];
      return [[maker, { offset, reason: quarantineReason, clock: quarantineClock }] as const];
    });
    const own = (maker: Hex) => [...orders.values()].filter((order) => order.maker === maker);
    return {
      projection,
      due: rows.flatMap(({ maker, dueAtSeconds }) => {
        return dueAtSeconds === null ? [] : [{ maker, dueAtSeconds, openOrders: own(maker).length }];
      }),
      quarantined: new Map(quarantined),
      owed: quarantined.flatMap(([maker]) => own(maker).filter(({ inBook }) => inBook)),
    };
  }

  #rowsOf(asked: ReadonlySet<Hex>) {
    const { makers, funding, orders, projection } = this.tables;
    const own = ({ maker }: { readonly maker: Hex }) => asked.has(maker);
    return {
      makers: [...makers.values()].filter(own),
      funding: [...funding.values()].filter(own).map((row) => {
        return this.broken.has(row.maker) ? { ...row, openOrders: row.openOrders + 1 } : row;
      }),
      orders: [...orders.values()].filter(own).sort((a, b) => (a.acceptedOffset < b.acceptedOffset ? -1 : 1)),
      versions: [projection.version],
    };
  }

  #after(commit: ProjectionCommit): Tables {
    const { from, to, isBlockBegun, clock, version } = commit;
    const { projection } = this.tables;
    const isThere = projection.nextOffset === from;
    if ((!isThere || projection.version !== version) && !RowsInMemory.ignoresOwners) {
      throw new PositionTaken(`the rows are at ${projection.nextOffset}, version ${projection.version}`);
    }
    const makers = new Map(this.tables.makers);
    const funding = new Map(this.tables.funding);
    const orders = new Map(this.tables.orders);
    const cancelled = new Map(this.tables.cancelled);
    for (const row of commit.makers) makers.set(row.maker, row);
    for (const { maker, token } of commit.fundingDropped) funding.delete(`${maker} ${token}`);
    for (const row of commit.funding) funding.set(`${row.maker} ${row.token}`, row);
    for (const orderHash of commit.removed) orders.delete(orderHash);
    for (const row of commit.opened) {
      refuseUnless(!orders.has(row.orderHash), `${row.orderHash} is there already`);
      orders.set(row.orderHash, row);
    }
    for (const { orderHash, remaining, isObserved, status, reason, inBook } of commit.changed) {
      const row = orders.get(orderHash);
      if (row !== undefined) orders.set(orderHash, { ...row, remaining, isObserved, status, reason, inBook });
    }
    for (const row of commit.cancelledHashes) {
      refuseUnless(!cancelled.has(row.orderHash), `${row.orderHash} was cancelled before`);
      cancelled.set(row.orderHash, row);
    }
    for (const row of commit.history) {
      refuseUnless(!(row.happened === 'REMOVED' && this.refused.has(row.maker)), `${row.maker} is refused a row`);
    }
    assertInvariants(commit);
    const history = [...this.tables.history, ...commit.history];
    const next = { nextOffset: to, isBlockBegun, clock, version: projection.version + 1n };
    return { projection: next, makers, funding, orders, history, cancelled };
  }
}

/** Some of the checks of `schema.txt`. */
function assertInvariants({ makers, funding, opened }: ProjectionCommit): void {
  for (const { dueAtSeconds, quarantinedOffset } of makers) {
    refuseUnless(quarantinedOffset === null || dueAtSeconds === null, 'a quarantined maker is due');
  }
  for (const { openOrders } of funding) refuseUnless(openOrders > 0, 'funds of no order');
  for (const { status, reason, isObserved, remaining } of opened) {
    refuseUnless((status === 'INACTIVE') === (reason !== null), 'INACTIVE and its reason');
    refuseUnless(isObserved || status === 'VALIDATING', 'never read, and judged');
    refuseUnless(BigInt(remaining) > 0n, 'nothing left to fill');
  }
}

function refuseUnless(isRight: boolean, what: string): void {
  if (!isRight) throw new InvariantBroken(`the read model refused a row: ${what}`);
}
