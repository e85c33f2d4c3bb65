import type { Send } from '@makerbook/parts';
import {
  type HashRow,
  type MakerRow,
  PostgresUnavailable,
  type ProjectedPartition,
  type ProjectionStore,
  type ReadModel,
} from '@makerbook/postgres';
import { noTables, RowsInMemory, type Tables } from '@makerbook/projector/testing';

/** Postgres in memory: the rows of each partition, for the one who writes them and for those who read. */
export class StoreInMemory {
  /** A planted defect: readers take the rows of a maker in quarantine for all that there is. */
  static hidesQuarantines = false;
  readonly #rows: readonly RowsInMemory[];
  #backup: readonly Tables[];
  isAway = false;

  /** @param onCommit called with the partition of each commit */
  constructor(partitions: number, onCommit: (partition: number) => void) {
    this.#rows = Array.from({ length: partitions }, (_, partition) => new RowsInMemory(() => onCommit(partition)));
    this.#backup = this.tables;
  }

  get tables(): readonly Tables[] {
    return this.#rows.map(({ tables }) => tables);
  }

  setAway(isAway: boolean): void {
    this.isAway = isAway;
    for (const rows of this.#rows) rows.isAway = isAway;
  }

  backUp(): void {
    this.#backup = this.tables;
  }

  /** The server is started again, and has lost what was committed since the backup. */
  restore(): void {
    for (const [partition, rows] of this.#rows.entries()) rows.crash(this.#backup[partition] ?? noTables);
  }

  empty(): void {
    for (const rows of this.#rows) rows.crash(noTables);
  }

  /** For the projector. */
  connect(send: Send): ProjectionStore {
    const stores = this.#rows.map((rows) => rows.connect(send));
    const storeOf = (partition: number) => stores[partition] ?? fail(partition);
    return {
      takeProjection: (partition) => storeOf(partition).takeProjection(partition),
      readMakers: (partition, makers) => storeOf(partition).readMakers(partition, makers),
      findKnownHashes: (partition, keys) => storeOf(partition).findKnownHashes(partition, keys),
      saveProjection: (commit) => storeOf(commit.partition).saveProjection(commit),
    };
  }

  /** For ingress and query. */
  openReadModel(send: Send): ReadModel {
    const failure = (fate: string) => new PostgresUnavailable(`postgres: ${fate}`);
    const ask = <T>(serve: (tables: readonly Tables[]) => T) =>
      send('read', () => serve(this.tables), failure, { isAway: this.isAway, timeoutMs: STATEMENT_MS_MAX });
    return {
      projectedPositions: () => ask(positionsOf),
      hasQuarantined: () => ask((all) => all.some(({ makers }) => [...makers.values()].some(isQuarantined))),
      findOrders: (hashes) =>
        ask((tables) => {
          const rows = hashes.flatMap((hash) => tables.flatMap(({ orders }) => orders.get(hash) ?? []));
          const orders = rows.map(({ orderHash, maker, recordStart, expiresAtSeconds }) => {
            return [orderHash, { maker, salt: JSON.parse(`${recordStart}}`).order.salt, expiresAtSeconds }] as const;
          });
          return { orders: new Map(orders), positions: positionsOf(tables) };
        }),
      findEnded: (keys) =>
        ask((tables) => {
          const rows = tables.flatMap(({ hashes, orders }) =>
            foldedHashes(hashes).filter(({ orderHash }) => !orders.has(orderHash)),
          );
          const isAsked = (row: HashRow) =>
            keys.some(({ orderHash, maker }) => row.orderHash === orderHash && row.maker === maker);
          return new Set(rows.filter(isAsked).map(({ orderHash }) => orderHash));
        }),
      loadReservations: (maker, partition, nowSeconds) =>
        ask((all) => {
          const tables = all[partition] ?? fail(partition);
          const own = foldedHashes(tables.hashes).filter(
            (row) => row.maker === maker && row.expiresAtSeconds > nowSeconds,
          );
          const accepted = own.map(({ orderHash, expiresAtSeconds }) => {
            return { orderHash, expiresAtSeconds, isOpen: tables.orders.has(orderHash) };
          });
          return {
            nextOffset: tables.projection.nextOffset,
            isQuarantined: isQuarantined(tables.makers.get(maker)),
            accepted,
          };
        }),
      readMakerList: (maker, partition) =>
        ask((all) => {
          const { orders, projection } = all[partition] ?? fail(partition);
          const own = [...orders.values()].filter((order) => order.maker === maker);
          const records = own
            .sort((a, b) => Number(a.acceptedOffset - b.acceptedOffset))
            .map(({ orderHash, acceptedOffset, expiresAtSeconds, recordStart, status, reason }) => {
              const end = reason === null ? '"}' : `","reason":"${reason}"}`;
              return { orderHash, acceptedOffset, expiresAtSeconds, json: `${recordStart},"status":"${status}${end}` };
            });
          return { nextOffset: projection.nextOffset, records };
        }),
    };
  }

  /** For the watchers, with `projected` in one snapshot. */
  openOrders() {
    return this.tables.flatMap(({ orders }) =>
      [...orders.values()].map(({ orderHash, maker, makingToken: token, expiresAtSeconds, isObserved }) => {
        return { orderHash, maker, token, expiresAtSeconds, isObserved };
      }),
    );
  }

  /** Where each partition is. */
  projected(): readonly ProjectedPartition[] {
    return this.tables.map(({ projection, makers, funding }, partition) => {
      const offset = projection.nextOffset;
      const { term, block, seconds } = projection.clock;
      const reads = [...makers.values(), ...funding.values()].map(
        (row) => ('block' in row ? row.block : row.nonceBlock) ?? -1,
      );
      const quarantined = [...makers.values()].flatMap(({ maker, quarantinedOffset }) => {
        return quarantinedOffset === null ? [] : [[maker, quarantinedOffset] as const];
      });
      return {
        partition,
        nextOffset: offset,
        term,
        block: block < 0 ? undefined : { number: block, timestamp: seconds },
        newestRead: Math.max(-1, ...reads),
        quarantined: new Map(quarantined),
      };
    });
  }
}

const STATEMENT_MS_MAX = 5_000;

function positionsOf(tables: readonly Tables[]): Map<number, bigint> {
  return new Map(tables.map(({ projection }, partition) => [partition, projection.nextOffset]));
}

function isQuarantined(row: MakerRow | undefined): boolean {
  return row !== undefined && row.quarantinedOffset !== null && !StoreInMemory.hidesQuarantines;
}

function foldedHashes(hashes: Tables['hashes']): HashRow[] {
  return [...hashes.values()].filter(({ state }) => state !== 'UNFOLDED');
}

function fail(partition: number): never {
  throw new Error(`there is no partition ${partition}`);
}
