import type { ProjectedPartition } from '@makerbook/chain-watcher/testing';
import { type Happening, happenings } from '@makerbook/contracts-http';
import type { Hex } from '@makerbook/contracts-primitives';
import { type Exits, hashKeyText, type Maker, noExits, type OrderStatus } from '@makerbook/domain';
import type { Store } from '@makerbook/ingress';
import type { Send } from '@makerbook/parts';
import { PostgresUnavailable } from '@makerbook/postgres';
import { noTables, type ProjectionStore, RowsInMemory, type Tables } from '@makerbook/projector/testing';
import type {
  HistoryEntry,
  HistoryPlace,
  HistoryQuery,
  ListedOrder,
  NewsQuery,
  ReadModel,
  StoredNews,
} from '@makerbook/query';
import { PlacementsInMemory } from './hold-placements.js';

/** The rows of all partitions at one moment. */
interface Snapshot {
  readonly atMs: number;
  readonly tables: readonly Tables[];
}

/** How far back a crash can take the rows. */
const LOST_MS_MAX = 1_000;

/** Postgres in memory: the rows of each partition, for their writer and for their readers. */
export class StoreInMemory {
  /** A planted defect: the changes of a list do not tell which orders have left. */
  static hidesRemovals = false;
  /** A planted defect: a list does not say that its maker is in quarantine. */
  static hidesQuarantine = false;
  readonly #rows: readonly RowsInMemory[];
  readonly #placements: PlacementsInMemory;
  readonly #nowMs: () => number;
  #snapshots: Snapshot[] = [];
  isAway = false;

  /** @param onCommit called with the partition of each commit */
  constructor(partitions: number, nowMs: () => number, onCommit: (partition: number) => void) {
    this.#nowMs = nowMs;
    this.#rows = Array.from({ length: partitions }, (_, partition) => {
      return new RowsInMemory(() => {
        this.#keepSnapshot();
        onCommit(partition);
      });
    });
    this.#placements = new PlacementsInMemory(this.#rows, nowMs);
  }

  get tables(): readonly Tables[] {
    return this.#rows.map(({ tables }) => tables);
  }

  set onMark(onMark: (requestId: string) => void) {
    this.#placements.onMark = onMark;
  }

  get markedAtMs(): ReadonlyMap<Hex, number> {
    return this.#placements.markedAtMs;
  }

  setAway(isAway: boolean): void {
    this.isAway = isAway;
    for (const rows of this.#rows) rows.isAway = isAway;
  }

  /** Kills the server and starts it again. Loses the unlogged tables and all commits of the last `lostMs`. */
  crash(lostMs: number): void {
    const left = this.#snapshots.findLast(({ atMs }) => atMs <= this.#nowMs() - lostMs);
    for (const [partition, rows] of this.#rows.entries()) {
      rows.crash(lostMs === 0 ? rows.tables : (left?.tables[partition] ?? noTables));
    }
    this.#snapshots = [];
    this.#keepSnapshot();
    this.#placements.crash();
  }

  prune(): void {
    for (const rows of this.#rows) rows.prune();
  }

  /** Serves the projector. */
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

  /** Serves ingress. @param processMs the clock of the process */
  openPlacements(send: Send, timeoutMs: number, processMs: () => number): Store {
    const options = () => ({ isAway: this.isAway, timeoutMs });
    return this.#placements.connect((serve) => send('decide', serve, unavailable, options()), processMs);
  }

  /** Serves ingress and query. */
  openReadModel(send: Send): ReadModel {
    const ask = <T>(serve: (tables: readonly Tables[]) => T) =>
      send('read', () => serve(this.tables), unavailable, { isAway: this.isAway, timeoutMs: STATEMENT_MS_MAX });
    return {
      readListState: (maker) =>
        ask((all) => {
          const isOwn = (row: { readonly maker: Hex }) => row.maker === maker;
          const placed = all.flatMap(({ inFlight }) => [...inFlight.values()].filter(isOwn));
          const cancelled = all.flatMap(({ cancelling }) => cancelling.filter(isOwn));
          return {
            version: versionOf(all, maker),
            unsettled: [
              ...placed.map(({ orderHash, untilMs }) => `placed:${orderHash}${untilMs}`),
              ...cancelled.map(({ orderHash, untilMs }) => `cancelled:${orderHash}${untilMs}`),
            ],
            isUnsure: (isQuarantined(all, maker) && !StoreInMemory.hidesQuarantine) || !this.#placements.isTrusted,
            cancelAt: cancelAtOf(all, maker),
          };
        }),
      readMaker: (maker) => ask(() => this.#makerOf(maker)),
      readMakerList: (maker) => ask((all) => ({ version: versionOf(all, maker), records: listOf(all, maker) })),
      readListChanges: (maker, since) =>
        ask((all) => {
          const changes = all
            .flatMap(({ history }) => history)
            .filter((row) => row.maker === maker && row.logOffset > since);
          const touched = new Set(changes.map(({ orderHash }) => orderHash));
          const records = listOf(all, maker).filter(({ orderHash }) => touched.has(orderHash));
          const removed = [...touched].filter((hash) => records.every(({ orderHash }) => orderHash !== hash));
          return { version: versionOf(all, maker), records, removed: StoreInMemory.hidesRemovals ? [] : removed };
        }),
      readOrderHistory: (maker, orderHash, _entriesMax, before) =>
        ask((all) => {
          const key = hashKeyText({ maker, orderHash });
          const entries = all.flatMap((tables, partition) => {
            const end = tables.makers.get(maker)?.quarantinedOffset ?? null;
            return entriesOf(tables, partition, maker).flatMap(({ entry }) => {
              const isHidden = entry.happened === 'FILLED' && end !== null && entry.logOffset >= end;
              const isLater = before !== undefined && entry.logOffset >= before && entry.happened !== 'OPENED';
              return entry.orderHash !== orderHash || isHidden || isLater ? [] : [entry];
            });
          });
          const states = all.flatMap(({ hashes }) => hashes.get(key)?.state ?? []);
          const isPlaced = states.includes('UNFOLDED') || all.some(({ inFlight }) => inFlight.has(key));
          const hash = isPlaced ? 'PLACED' : states.includes('ACCEPTED') ? 'ACCEPTED' : 'UNKNOWN';
          const [first] = entries;
          const foldedTo = (first && all[first.partition]?.projection.nextOffset) ?? 0n;
          return { entries, hash, isUnsure: !this.#placements.isTrusted, foldedTo };
        }),
      readPartitionClocks: () =>
        ask((all) =>
          all.map(({ projection: { nextOffset, clock } }, partition) => {
            const block = clock.block < 0 ? undefined : { number: clock.block, timestamp: clock.seconds };
            return { partition, nextOffset, block };
          }),
        ),
      readNews: (asked) => ask((all) => newsOf(all[asked.partition] ?? fail(asked.partition), asked)),
      readMakerHistory: (asked) =>
        ask((all) => {
          const tables = all[asked.partition] ?? fail(asked.partition);
          const isUnsure = tables.projection.blockParts > 0 || !this.#placements.isTrusted;
          return { ...pageOf(tables, asked), keptFrom: 0n, isUnsure };
        }),
    };
  }

  /** Serves the watchers, in one snapshot with `projected`. */
  openOrders() {
    return this.tables.flatMap(({ orders }) =>
      [...orders.values()].map(
        ({ orderHash, maker, makingToken, expiresAtSeconds, status, walletSignature, recordStart }) => {
          const takingToken: Hex = JSON.parse(`${recordStart}}`).order.taking.token;
          return {
            orderHash,
            maker,
            makingToken,
            takingToken,
            expiresAtSeconds,
            isRead: status !== 'VALIDATING',
            walletSignature,
          };
        },
      ),
    );
  }

  /** How far each partition is projected. */
  projected(): readonly ProjectedPartition[] {
    return this.tables.map(({ projection, makers, funding }, partition) => {
      const offset = projection.nextOffset;
      const { block, seconds } = projection.clock;
      const reads = [...makers.values(), ...funding.values()].map(
        (row) => ('block' in row ? row.block : row.nonceBlock) ?? -1,
      );
      const quarantined = [...makers.values()].flatMap(({ maker, quarantinedOffset }) => {
        return quarantinedOffset === null ? [] : [[maker, quarantinedOffset] as const];
      });
      return {
        partition,
        nextOffset: offset,
        block: block < 0 ? undefined : { number: block, timestamp: seconds },
        newestRead: Math.max(-1, ...reads),
        makers: [...makers.keys()],
        quarantined: new Map(quarantined),
      };
    });
  }

  #makerOf(maker: Hex): Awaited<ReturnType<ReadModel['readMaker']>> {
    const nowMs = this.#nowMs();
    for (const [partition, { makers, orders, hashes, projection }] of this.tables.entries()) {
      const row = makers.get(maker);
      if (row === undefined) continue;
      const { clock, nextOffset } = projection;
      const own = [...orders.values()].filter((order) => order.maker === maker);
      return {
        partition,
        nextOffset: row.quarantinedOffset ?? nextOffset,
        clock,
        admission: row.admission as Maker['admission'],
        limits: row.limits,
        exits: { ...noExits, ...row.exits },
        isUnsure: !this.#placements.isTrusted,
        quarantine: row.quarantineReason,
        nonce: row.nonce === null ? null : BigInt(row.nonce),
        openOrders: own.filter(({ expiresAtSeconds }) => expiresAtSeconds * 1000 > nowMs).length,
        remembered: [...hashes.values()].filter((hash) => hash.maker === maker).length,
        budgets: {
          orders: this.#placements.budgetOf(maker, 'orders'),
          cancels: this.#placements.budgetOf(maker, 'cancels'),
        },
        nowMs,
      };
    }
    return null;
  }

  #keepSnapshot(): void {
    const atMs = this.#nowMs();
    this.#snapshots = this.#snapshots.filter((one, index, all) => {
      return one.atMs >= atMs - LOST_MS_MAX || (all[index + 1]?.atMs ?? atMs) >= atMs - LOST_MS_MAX;
    });
    this.#snapshots.push({ atMs, tables: this.tables });
  }
}

const STATEMENT_MS_MAX = 5_000;

const unavailable = (fate: string) => new PostgresUnavailable(`postgres: ${fate}`);

function versionOf(tables: readonly Tables[], maker: Hex): bigint {
  return tables.reduce((version, { makers }) => {
    const own = makers.get(maker)?.listVersion ?? 0n;
    return own > version ? own : version;
  }, 0n);
}

function listOf(tables: readonly Tables[], maker: Hex): ListedOrder[] {
  const own = tables.flatMap(({ orders }) => [...orders.values()]).filter((order) => order.maker === maker);
  return own
    .sort((a, b) => Number(a.acceptedOffset - b.acceptedOffset))
    .map(({ orderHash, acceptedOffset, expiresAtSeconds, recordStart, status, reason, ...amounts }) => {
      const [remaining, makingAmount] = [BigInt(amounts.remaining), BigInt(amounts.makingAmount)];
      const state = { status, reason } as OrderStatus;
      const left = remaining < makingAmount ? remaining : undefined;
      const { cappedUntil } = amounts;
      return { orderHash, acceptedOffset, expiresAtSeconds, recordStart, state, remaining: left, cappedUntil };
    });
}

/** Reads as `readNews` does. */
function newsOf(tables: Tables, { partition, makers, from, to, entriesMax }: NewsQuery): StoredNews {
  const found = makers
    .flatMap((maker) => entriesOf(tables, partition, maker))
    .filter(({ entry }) => entry.logOffset >= from && entry.logOffset < to)
    .sort((one, other) => comparePlaces(one.place, other.place))
    .map(({ entry, maker }) => ({ ...entry, maker }));
  const quarantined = makers.filter((maker) => (tables.makers.get(maker)?.quarantinedOffset ?? null) !== null);
  const { nextOffset } = tables.projection;
  return { entries: found.slice(0, entriesMax), isCut: found.length > entriesMax, quarantined, nextOffset };
}

function isQuarantined(tables: readonly Tables[], maker: Hex): boolean {
  return tables.some(({ makers }) => (makers.get(maker)?.quarantinedOffset ?? null) !== null);
}

function cancelAtOf(tables: readonly Tables[], maker: Hex): number {
  for (const { makers, projection } of tables) {
    const { cancelAt = 0 } = (makers.get(maker)?.exits ?? {}) as Partial<Exits>;
    if (cancelAt > projection.clock.seconds) return cancelAt;
  }
  return 0;
}

function fail(partition: number): never {
  throw new Error(`there is no partition ${partition}`);
}

/** Reads as `readMakerHistory` does. */
function pageOf(tables: Tables, { maker, partition, after, before, happened, salt, entriesMax }: HistoryQuery) {
  const quarantined = tables.makers.get(maker)?.quarantinedOffset ?? null;
  const end = quarantined ?? tables.projection.nextOffset;
  const salted = new Set(tables.history.flatMap((row) => (row.salt === salt ? [row.orderHash] : [])));
  const left = entriesOf(tables, partition, maker).filter(({ entry, place }) => {
    if (salt !== undefined && !salted.has(entry.orderHash)) return false;
    const { logOffset: offset } = entry;
    const isIn = offset < end && (before === undefined || offset < before) && happened.includes(entry.happened);
    return isIn && (after.entry === undefined ? offset >= after.offset : comparePlaces(place, after) > 0);
  });
  const page = left.slice(0, entriesMax);
  const last = page.at(-1)?.place;
  const hasMore = left.length > page.length;
  const behind = { offset: before === undefined || before > end ? end : before };
  const next = hasMore && last !== undefined ? last : behind.offset <= after.offset ? after : behind;
  return { entries: page.map(({ entry }) => entry), next, hasMore };
}

/** The history entries of a maker's orders, in the order of `readMakerHistory`. */
function entriesOf({ history, fills }: Tables, partition: number, maker: Hex) {
  const rank = (happened: Happening) => happenings.indexOf(happened) + 1;
  const changes = history.map(({ remaining, salt: _, ...row }) => {
    const at = { orderHash: row.orderHash, rank: rank(row.happened), blockNumber: -1, logIndex: -1 };
    const entry = { ...row, partition, remaining: BigInt(remaining) } as HistoryEntry;
    return { maker: row.maker, entry, place: { offset: row.logOffset, entry: at } };
  });
  const filled = [...fills.values()].map(({ orderHash, blockNumber, logIndex, logOffset, maker: own }) => {
    const at = { orderHash, rank: rank('FILLED'), blockNumber, logIndex };
    const entry: HistoryEntry = { partition, logOffset, orderHash, happened: 'FILLED', blockNumber, logIndex };
    return { maker: own, entry, place: { offset: logOffset, entry: at } };
  });
  return [...changes, ...filled]
    .filter((each) => each.maker === maker)
    .sort((one, other) => comparePlaces(one.place, other.place));
}

function comparePlaces(one: HistoryPlace, other: HistoryPlace): number {
  const keyOf = ({ offset, entry }: HistoryPlace) =>
    [offset, entry?.orderHash ?? '', entry?.rank ?? 0, entry?.blockNumber ?? -1, entry?.logIndex ?? -1] as const;
  const [a, b] = [keyOf(one), keyOf(other)];
  for (const [at, value] of a.entries()) {
    const against = b[at] ?? value;
    if (value !== against) return value < against ? -1 : 1;
  }
  return 0;
}
