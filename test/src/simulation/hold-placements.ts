import type { Address, Hex } from '@makerbook/contracts-primitives';
import {
  type BudgetName,
  type Decision,
  type HashKey,
  type HashStanding,
  hashKeyText,
  type MakerStanding,
  noExits,
} from '@makerbook/domain';
import type { FoundRows, Group, ReadAndWrite, Reading, Store, Trust, Wanted } from '@makerbook/ingress';
import { PostgresUnavailable } from '@makerbook/postgres';
import type { InFlight, RowsInMemory, Tables } from '@makerbook/projector/testing';
import { amountsOf, findRows, findSalted, listedOf, planted, wereNeverInBook } from './find-placements.js';

type Tokens = MakerStanding['orders'];
type Ask = <T>(serve: () => T) => Promise<T>;
type Of<Kind extends Decision['kind']> = Extract<Decision, { kind: Kind }>;

/** A transaction that holds locks and stays idle is ended after this time. */
const LOCKED_MS_MAX = 5_000;
/** The longest wait for a lock. */
const LOCK_MS_MAX = 1_000;

/**
 * The store of ingress in memory: the rows, the budgets with their versions, and the notes. It compares and stores, but
 * decides nothing. Each call is one step.
 */
export class PlacementsInMemory {
  readonly #rows: readonly RowsInMemory[];
  readonly #nowMs: () => number;
  readonly #notes = new Map<Hex, number>();
  readonly #budgets = new Map<string, Tokens>();
  readonly #versions = new Map<string, number>();
  readonly #locks = new Map<Address, { readonly by: object; readonly untilMs: number }>();
  #lastVersion = 0;
  /** When each order's cancellation was first marked, on the simulation's clock. Released marks are left out. */
  readonly markedAtMs = new Map<Hex, number>();
  /** Called with the id of a request just before its cancellations are marked. */
  onMark: (requestId: string) => void = () => undefined;
  #trust: Trust | undefined = { sinceMs: 0, isTrusted: false };

  constructor(rows: readonly RowsInMemory[], nowMs: () => number) {
    this.#rows = rows;
    this.#nowMs = nowMs;
  }

  get isTrusted(): boolean {
    return this.#trust?.isTrusted === true || planted.ignoresTrust;
  }

  crash(): void {
    for (const table of [this.#notes, this.#budgets, this.#versions, this.#locks]) table.clear();
    this.#trust = undefined;
  }

  /**
   * @param ask serves a call as one step, or fails
   * @param processMs the clock of the process. No decision may depend on it
   */
  connect(ask: Ask, processMs: () => number): Store {
    const readAndWrite = (by: object): ReadAndWrite => ({
      read: (wanted) => ask(() => this.#read(wanted, processMs())),
      write: (reading, groups) => ask(() => groups.map((group) => this.#write(reading, group, by))),
    });
    return {
      ...readAndWrite(this),
      alone: async (makers, work) => {
        const by = {};
        const untilMs = this.#nowMs() + LOCK_MS_MAX;
        while (!(await ask(() => this.#lock(makers, by, untilMs)))) await Promise.resolve();
        const done = await work(readAndWrite(by));
        await ask(() => this.#unlock(by));
        return done;
      },
      findHashes: (hashes) => ask(() => this.#find(hashes)),
      findBySalts: (wanted) =>
        ask(() =>
          this.isTrusted
            ? findSalted(
                this.#rows.map(({ tables }) => tables),
                wanted,
              )
            : 'untrusted',
        ),
      wereNeverInBook: (hashes) =>
        ask(() =>
          wereNeverInBook(
            this.#rows.flatMap(({ tables }) => tables.history),
            hashes,
          ),
        ),
      note: (hashes, sinceMs, nowMs) => ask(() => this.#note(hashes, sinceMs, nowMs)),
      release: (...all) => ask(() => this.#release(...all)),
      forgetNotes: (olderThanMs) =>
        ask(() => {
          const beforeMs = this.#nowMs() - olderThanMs;
          for (const [orderHash, toldAtMs] of this.#notes) if (toldAtMs < beforeMs) this.#notes.delete(orderHash);
        }),
      beginTrust: () =>
        ask(() => {
          this.#trust ??= { sinceMs: this.#nowMs(), isTrusted: false };
          return this.#trust;
        }),
      endTrust: (sinceMs) =>
        ask(() => {
          if (this.#trust?.sinceMs === sinceMs) this.#trust = { sinceMs, isTrusted: true };
        }),
    };
  }

  budgetOf(maker: Address, of: BudgetName): Tokens {
    return this.#budgets.get(`${maker} ${of}`) ?? { left: undefined, atMs: 0 };
  }

  #trustedSinceMs(): number | undefined {
    return this.isTrusted ? (this.#trust?.sinceMs ?? 0) : undefined;
  }

  #read({ makers, hashes, isPlacing, isCancellingAll }: Wanted, processMs: number): Reading {
    const nowMs = planted.usesProcessClocks ? processMs : this.#nowMs();
    const standings = makers.map(({ maker }) => [maker, this.#standingOf(maker, nowMs, isCancellingAll)] as const);
    const known = isPlacing ? hashes : [];
    return {
      standing: {
        trustedSinceMs: this.#trustedSinceMs(),
        makers: new Map(standings),
        hashes: new Map(known.map((key) => [key.orderHash, this.#hashOf(key)])),
      },
      versions: new Map(this.#versions),
      clockMs: nowMs,
      nowMs,
    };
  }

  #standingOf(maker: Address, nowMs: number, isCancellingAll: boolean): MakerStanding {
    const all = this.#rows.map(({ tables }) => tables);
    const own = <Row extends { readonly maker: Hex }>(rows: (tables: Tables) => Iterable<Row>) =>
      all.flatMap((tables) => [...rows(tables)]).filter((row) => row.maker === maker);
    const [row] = own(({ makers }) => makers.values());
    const marks = own(({ cancelling }) => cancelling);
    const marked = new Set(marks.map(({ orderHash }) => orderHash));
    const left = <Row extends { readonly orderHash: Hex }>(rows: readonly Row[]) =>
      rows.filter(({ orderHash }) => !marked.has(orderHash));
    const isExpired = (each: { readonly expiresAtSeconds: number }) =>
      each.expiresAtSeconds <= Math.floor(nowMs / 1000);
    const orders = left(own((tables) => tables.orders.values()));
    const inFlight = own((tables) => tables.inFlight.values());
    const hashes = own((tables) => tables.hashes.values());
    const known = new Set([...hashes, ...inFlight].map(({ orderHash }) => orderHash));
    const flying = planted.ignoresInFlight ? [] : left(inFlight).filter((each) => !isExpired(each));
    return {
      orders: this.budgetOf(maker, 'orders'),
      cancels: this.budgetOf(maker, 'cancels'),
      nonce: BigInt(row?.nonce ?? 0),
      isQuarantined: (row?.quarantinedOffset ?? null) !== null && !planted.ignoresQuarantine,
      open: orders.length * (planted.ignoresOpen ? 0 : planted.countsOpenTwice ? 2 : 1),
      expired: planted.ignoresOpen ? 0 : orders.filter(isExpired).length,
      inFlight: flying.length,
      remembered: hashes.length,
      onTheirWay: inFlight.length + [...marked].filter((orderHash) => !known.has(orderHash)).length,
      exits: { ...noExits, ...row?.exits },
      instructions: planted.ignoresInstructions ? [] : marks.flatMap(({ instruction }) => instruction ?? []),
      listed: isCancellingAll ? orders.map(listedOf) : [],
    };
  }

  #hashOf(key: HashKey): HashStanding {
    const all = this.#rows.map(({ tables }) => tables);
    const text = hashKeyText(key);
    const [hash] = all.flatMap(({ hashes }) => hashes.get(text) ?? []);
    const [flying] = all.flatMap(({ inFlight }) => inFlight.get(text) ?? []);
    const [order] = all.flatMap(({ orders }) => orders.get(key.orderHash) ?? []);
    const isCancelling = all.some(({ cancelling }) => cancelling.some((row) => hashKeyText(row) === text));
    const told = this.#notes.get(key.orderHash);
    const state = planted.tellsInFlightAsStored && flying ? 'ACCEPTED' : hash?.state;
    return {
      ...(state && !planted.forgetsHashes && { remembered: state }),
      ...(flying && { inFlight: { expiresAtSeconds: flying.expiresAtSeconds } }),
      ...(order && { order: amountsOf(order) }),
      ...(told !== undefined && !planted.ignoresNotes && { notedUntilMs: told }),
      ...(isCancelling && !planted.ignoresMarks && { isCancelling }),
    };
  }

  #write({ standing, versions }: Reading, group: Group, by: object): boolean {
    const all = group.flatMap(({ requestId, decisions }) => decisions.map((decision) => ({ ...decision, requestId })));
    const of = <Kind extends Decision['kind']>(kind: Kind) =>
      all.filter((one): one is Of<Kind> & { readonly requestId: string } => one.kind === kind);
    const [charges, placed, marked] = [of('charge'), of('place'), of('mark')];
    const isSame = charges.every(({ maker, of: which }) => {
      const version = this.#versions.get(`${maker} ${which}`);
      return !this.#isLocked(maker, by) && version === versions.get(`${maker} ${which}`);
    });
    const isTrusted = placed.length === 0 || this.#trustedSinceMs() === standing.trustedSinceMs;
    const isOvertaken =
      (!isSame && !planted.ignoresVersions) ||
      !isTrusted ||
      (placed.some((one) => this.#isTaken(one, standing.hashes)) && !planted.ignoresRaces) ||
      marked.some((one) => this.#hasChanged(one));
    if (isOvertaken) {
      if (planted.splitsGroups && isTrusted) for (const one of placed) this.#place(one);
      return planted.tellsOvertakenAsStored || (planted.splitsGroups && placed.length > 0);
    }
    this.#lastVersion += 1;
    for (const requestId of new Set(marked.map((one) => one.requestId))) this.onMark(requestId);
    for (const { maker, of: which, tokens } of charges) {
      this.#versions.set(`${maker} ${which}`, this.#lastVersion);
      if (!planted.forgetsCharges) this.#budgets.set(`${maker} ${which}`, tokens);
    }
    if (!planted.forgetsPlacements) for (const one of placed) this.#place(one);
    if (!planted.forgetsMarks) for (const one of marked) this.#mark(one);
    return true;
  }

  #place({ orderHash, maker, partition, ...row }: Of<'place'> & { readonly requestId: string }): void {
    this.#notes.delete(orderHash);
    this.#of(partition).place({ orderHash, maker, ...row });
  }

  #mark({ orderHash, maker, partition, ...row }: Of<'mark'> & { readonly requestId: string }): void {
    if (!this.markedAtMs.has(orderHash)) this.markedAtMs.set(orderHash, this.#nowMs());
    this.#of(partition).cancel({ orderHash, maker, salt: '0x', expiresAtSeconds: 0, ...row });
  }

  /** True where Postgres would find a conflict in the orders in flight or the notes. */
  #isTaken({ orderHash, maker, partition }: Of<'place'>, read: ReadonlyMap<Hex, HashStanding>): boolean {
    const isInFlight = this.#of(partition).tables.inFlight.has(hashKeyText({ orderHash, maker }));
    return isInFlight || this.#notes.get(orderHash) !== read.get(orderHash)?.notedUntilMs;
  }

  #hasChanged({ onlyWith, orderHash, maker, partition }: Of<'mark'>): boolean {
    if (onlyWith === undefined || planted.ignoresFills) return false;
    const { orders, inFlight } = this.#of(partition).tables;
    if (onlyWith === 'in flight') return !inFlight.has(hashKeyText({ orderHash, maker }));
    const order = orders.get(orderHash);
    return order === undefined || amountsOf(order).remaining !== onlyWith;
  }

  #isLocked(maker: Address, by: object): boolean {
    const lock = this.#locks.get(maker);
    return lock !== undefined && lock.by !== by && lock.untilMs > this.#nowMs();
  }

  /** @returns false while another transaction holds one of the locks */
  #lock(makers: readonly Address[], by: object, untilMs: number): boolean {
    if (makers.some((maker) => this.#isLocked(maker, by))) {
      if (this.#nowMs() >= untilMs) throw new PostgresUnavailable('a lock was not free in time');
      return false;
    }
    for (const maker of makers) this.#locks.set(maker, { by, untilMs: this.#nowMs() + LOCKED_MS_MAX });
    return true;
  }

  #unlock(by: object): void {
    for (const [maker, lock] of this.#locks) if (lock.by === by) this.#locks.delete(maker);
  }

  #release(requestId: string, placed: readonly Hex[], marked: readonly Hex[]): void {
    const isReleased = (of: readonly Hex[]) => (row: InFlight) =>
      of.includes(row.orderHash) && row.requestId === requestId;
    for (const rows of this.#rows) rows.forget(isReleased(placed), isReleased(marked));
    const left = new Set(this.#rows.flatMap(({ tables }) => tables.cancelling.map(({ orderHash }) => orderHash)));
    for (const orderHash of marked) if (!left.has(orderHash)) this.markedAtMs.delete(orderHash);
  }

  #note(orderHashes: readonly Hex[], trustedSinceMs: number, nowMs: number): void {
    if (this.#trustedSinceMs() !== trustedSinceMs) return;
    for (const orderHash of orderHashes) {
      const isInFlight = this.#rows.some(({ tables }) =>
        [...tables.inFlight.values()].some((row) => row.orderHash === orderHash),
      );
      if (isInFlight && !planted.ignoresRaces) continue;
      this.#notes.set(orderHash, Math.max(nowMs, this.#nowMs(), this.#notes.get(orderHash) ?? 0));
    }
  }

  #find(orderHashes: readonly Hex[]): FoundRows {
    const all = this.#rows.map(({ tables }) => tables);
    return {
      nowMs: this.#nowMs(),
      trustedSinceMs: this.#trustedSinceMs(),
      rows: orderHashes.map((orderHash) => findRows(all, orderHash, this.#notes.get(orderHash))),
    };
  }

  #of(partition: number): RowsInMemory {
    const rows = this.#rows[partition];
    if (rows === undefined) throw new Error(`there is no partition ${partition}`);
    return rows;
  }
}
