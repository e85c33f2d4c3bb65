import type { Hex } from '@makerbook/contracts-primitives';
import { hashKeyText, noExits } from '@makerbook/domain';
import type {
  FoundHash,
  InstructOutcome,
  InstructRequest,
  MarkAllRequest,
  MarkOutcome,
  MarkRequest,
  MarkUnplacedOutcome,
  MarkUnplacedRequest,
  OrderAmounts,
  OrderRow,
  OrderToPlace,
  PlacementStore,
  PlaceOutcome,
  PlaceRequest,
  Trust,
} from '@makerbook/postgres';
import type { InFlight, RowsInMemory } from '@makerbook/projector/testing';
import { decideInstruction } from './hold-instructions.js';

/** No budget is ever spent here. */
const REMAINING = 1_000;

/**
 * What Postgres decides about requests, by rows in memory: the functions `place`, `find_orders` and `mark_cancelling` of the
 * migrations, without budgets. Each call is one step.
 */
export class PlacementsInMemory {
  /** Planted defects. */
  static ignoresNotes = false;
  static ignoresTrust = false;
  static forgetsPlacements = false;
  static replacesTwice = false;
  static ignoresInstructions = false;
  static hidesFills = false;
  readonly #rows: readonly RowsInMemory[];
  readonly #nowMs: () => number;
  readonly #notes = new Map<Hex, number>();
  /** When the cancellation of a hash was first marked, by the clock of the simulation, unless its mark was released. */
  readonly markedAtMs = new Map<Hex, number>();
  #trust: Trust | undefined = { sinceMs: 0, isTrusted: false };

  constructor(rows: readonly RowsInMemory[], nowMs: () => number) {
    this.#rows = rows;
    this.#nowMs = nowMs;
  }

  get isTrusted(): boolean {
    return this.#trust?.isTrusted === true || PlacementsInMemory.ignoresTrust;
  }

  crash(): void {
    this.#notes.clear();
    this.#trust = undefined;
  }

  /** @param ask serves a call as one step, or fails */
  connect(ask: <T>(serve: () => T) => Promise<T>): PlacementStore {
    return {
      place: (request) => ask(() => this.#place(request)),
      release: (orderHashes, untilMs) => ask(() => this.#release(new Set(orderHashes), untilMs)),
      findOrders: (orderHashes, nowMs, mayNote) => ask(() => this.#find(orderHashes, nowMs, mayNote)),
      markCancelling: (request) => ask(() => this.#mark(request)),
      markUnplaced: (request) => ask(() => this.#markUnplaced(request)),
      readAmounts: (orderHashes) => ask(() => orderHashes.map((orderHash) => this.#amountsOf(orderHash))),
      markAll: (request) => ask(() => this.#markAll(request)),
      instruct: (request) => ask(() => this.#instruct(request)),
      forgetNotes: (beforeMs) =>
        ask(() => {
          for (const [orderHash, toldAtMs] of this.#notes) if (toldAtMs < beforeMs) this.#notes.delete(orderHash);
        }),
      beginTrust: (nowMs) =>
        ask(() => {
          this.#trust ??= { sinceMs: nowMs, isTrusted: false };
          return this.#trust;
        }),
      endTrust: (sinceMs) =>
        ask(() => {
          if (this.#trust?.sinceMs === sinceMs) this.#trust = { sinceMs, isTrusted: true };
        }),
    };
  }

  #place(request: PlaceRequest): PlaceOutcome {
    const { makers, orders, receivedAtMs, nowMs, lastsMs } = request;
    if (!this.isTrusted || (this.#trust?.sinceMs ?? 0) >= receivedAtMs) return { kind: 'untrusted' };
    const remaining = makers.map(() => REMAINING);
    const known = orders.filter((order) => this.#isKnown(order, makers)).length;
    if (request.chargeOnly) return { kind: 'charged', known, remaining };
    if (makers.some((one) => this.#isQuarantined(one))) return { kind: 'quarantined' };
    for (const [index, order] of orders.entries()) {
      const { orderHash, makerIndex } = order;
      const maker = makers[makerIndex];
      if (maker === undefined) throw new Error(`there is no maker ${makerIndex}`);
      const { inFlight, cancelling } = this.#of(maker.partition).tables;
      const key = hashKeyText({ orderHash, maker: maker.maker });
      if (this.#isKnown(order, makers) || request.firstRepeatAt === index) {
        return { kind: 'duplicate', index, known, remaining };
      }
      if (inFlight.has(key) || cancelling.some((row) => hashKeyText(row) === key)) return { kind: 'in_flight', index };
    }
    const told = orders.findIndex(({ orderHash }) => (this.#notes.get(orderHash) ?? -1) >= receivedAtMs);
    if (told >= 0 && !PlacementsInMemory.ignoresNotes) return { kind: 'told_unknown', index: told, remaining };
    for (const [makerIndex, { maker, partition, openOrdersMax }] of makers.entries()) {
      const chainNonce = BigInt(this.#of(partition).tables.makers.get(maker)?.nonce ?? 0);
      const passed = orders.findIndex((order) => order.makerIndex === makerIndex && order.nonce < chainNonce);
      if (passed >= 0) return { kind: 'nonce_passed', index: passed, remaining };
      const own = [...orders.entries()].filter(([, order]) => order.makerIndex === makerIndex);
      const count = this.#countOpen(maker, partition, nowMs);
      if (count + own.length <= openOrdersMax) continue;
      const [index] = own[Math.max(0, openOrdersMax - count)] ?? [0];
      return { kind: 'too_many_open', index, count, remaining };
    }
    const untilMs = Math.max(nowMs, this.#nowMs()) + lastsMs;
    for (const { orderHash, makerIndex, salt, expiresAtSeconds } of orders) {
      const { maker, partition } = makers[makerIndex] ?? { maker: '0x', partition: 0 };
      this.#notes.delete(orderHash);
      if (!PlacementsInMemory.forgetsPlacements) {
        this.#of(partition).place({ orderHash, maker, untilMs, salt, expiresAtSeconds });
      }
    }
    return { kind: 'placed', untilMs, remaining };
  }

  #isKnown({ orderHash, makerIndex }: OrderToPlace, makers: PlaceRequest['makers']): boolean {
    const { maker, partition } = makers[makerIndex] ?? { maker: '0x', partition: 0 };
    return this.#of(partition).tables.hashes.has(hashKeyText({ orderHash, maker }));
  }

  #countOpen(maker: Hex, partition: number, nowMs: number): number {
    const { orders, inFlight, cancelling } = this.#of(partition).tables;
    const isOpen = (row: Pick<OrderRow | InFlight, 'maker' | 'orderHash'> & { readonly expiresAtSeconds: number }) =>
      row.maker === maker &&
      row.expiresAtSeconds > Math.floor(nowMs / 1000) &&
      !cancelling.some((mark) => hashKeyText(mark) === hashKeyText(row));
    return [...orders.values(), ...inFlight.values()].filter(isOpen).length;
  }

  #release(orderHashes: ReadonlySet<Hex>, untilMs: number): void {
    const isReleased = (row: InFlight) => orderHashes.has(row.orderHash) && row.untilMs === untilMs;
    for (const rows of this.#rows) rows.forget(isReleased);
    const marked = new Set(this.#rows.flatMap(({ tables }) => tables.cancelling.map(({ orderHash }) => orderHash)));
    for (const orderHash of orderHashes) if (!marked.has(orderHash)) this.markedAtMs.delete(orderHash);
  }

  #find(orderHashes: readonly Hex[], nowMs: number, mayNote: boolean): readonly FoundHash[] {
    const known = orderHashes.map((orderHash) => this.#findKnown(orderHash));
    return known.map((one, index): FoundHash => {
      const orderHash = orderHashes[index];
      if (one !== undefined || orderHash === undefined) return one ?? { state: 'UNSURE' };
      if (!mayNote || !this.isTrusted) return { state: 'UNSURE' };
      this.#notes.set(orderHash, Math.max(nowMs, this.#notes.get(orderHash) ?? 0));
      return { state: 'UNKNOWN' };
    });
  }

  #findKnown(orderHash: Hex): FoundHash | undefined {
    const all = this.#rows.map(({ tables }) => tables);
    const [order] = all.flatMap(({ orders }) => orders.get(orderHash) ?? []);
    if (order !== undefined) {
      const { maker, recordStart, expiresAtSeconds } = order;
      const { salt } = JSON.parse(`${recordStart}}`).order;
      return { state: 'FOUND', maker, salt, expiresAtSeconds, isInFlight: false };
    }
    const isOfHash = (row: { readonly orderHash: Hex }) => row.orderHash === orderHash;
    const placed = all.flatMap(({ inFlight }) => [...inFlight.values()]).find(isOfHash);
    const hash = all
      .flatMap(({ hashes }) => [...hashes.values()])
      .find((row) => isOfHash(row) && row.state !== 'CANCELLED');
    const found = placed ?? (hash?.state === 'UNFOLDED' ? hash : undefined);
    if (found !== undefined) {
      const { maker, salt, expiresAtSeconds } = found;
      return { state: 'FOUND', maker, salt: salt as Hex, expiresAtSeconds, isInFlight: placed !== undefined };
    }
    return hash === undefined ? undefined : { state: 'GONE' };
  }

  #mark({ makers, hashes, nowMs, lastsMs, isFirst = false }: MarkRequest): MarkOutcome {
    const isTaken = ({ orderHash, makerIndex }: MarkRequest['hashes'][number]) => {
      const { maker, partition } = makers[makerIndex] ?? { maker: '0x', partition: 0 };
      const { orders, inFlight, cancelling, hashes } = this.#of(partition).tables;
      const key = hashKeyText({ orderHash, maker });
      const isOpen = orders.has(orderHash) || (inFlight.has(key) && hashes.get(key)?.state !== 'CANCELLED');
      return !isOpen || cancelling.some((row) => row.maker === maker && row.orderHash === orderHash);
    };
    if (isFirst && !PlacementsInMemory.replacesTwice && hashes.some(isTaken))
      return { kind: 'marked_already', remaining: makers.map(() => REMAINING) };
    const { untilMs } = this.#addMarks({ makers, hashes, nowMs, lastsMs });
    return { kind: 'marked', untilMs, remaining: makers.map(() => REMAINING) };
  }

  #addMarks({ makers, hashes, nowMs, lastsMs }: Pick<MarkRequest, 'makers' | 'hashes' | 'nowMs' | 'lastsMs'>) {
    const untilMs = Math.max(nowMs, this.#nowMs()) + lastsMs;
    for (const { orderHash, makerIndex } of hashes) {
      if (!this.markedAtMs.has(orderHash)) this.markedAtMs.set(orderHash, this.#nowMs());
      const { maker, partition } = makers[makerIndex] ?? { maker: '0x', partition: 0 };
      this.#of(partition).cancel({ orderHash, maker, untilMs, salt: '0x', expiresAtSeconds: 0 });
    }
    return { untilMs };
  }

  #markUnplaced({ maker, partition, orderHashes, rememberedMax, ...rest }: MarkUnplacedRequest): MarkUnplacedOutcome {
    const { hashes, inFlight, cancelling } = this.#of(partition).tables;
    const all = [...hashes.values(), ...inFlight.values(), ...cancelling].filter((row) => row.maker === maker);
    const known = new Set(all.map(({ orderHash }) => orderHash));
    const count = orderHashes.filter((orderHash) => !known.has(orderHash)).length;
    if (count > 0 && known.size + count > rememberedMax) {
      return { kind: 'too_many_remembered', count: known.size, remaining: REMAINING };
    }
    const marked = orderHashes.map((orderHash) => ({ orderHash, makerIndex: 0 }));
    const { untilMs } = this.#addMarks({ ...rest, makers: [{ maker, partition }], hashes: marked });
    return { kind: 'marked', untilMs, remaining: REMAINING };
  }

  #amountsOf(orderHash: Hex): OrderAmounts | undefined {
    const [order] = this.#rows.flatMap(({ tables }) => tables.orders.get(orderHash) ?? []);
    if (order === undefined) return undefined;
    const making = BigInt(order.makingAmount);
    return { making, remaining: PlacementsInMemory.hidesFills ? making : BigInt(order.remaining) };
  }

  #markAll({ maker, partition, nowMs, lastsMs, budget, scope }: MarkAllRequest) {
    const { orders, cancelling } = this.#of(partition).tables;
    const isMarked = ({ orderHash, maker: whose, acceptedAtMs, makingToken, recordStart }: OrderRow) => {
      const { taking } = JSON.parse(`${recordStart}}`).order;
      return (
        whose === maker &&
        !cancelling.some((row) => row.maker === maker && row.orderHash === orderHash) &&
        acceptedAtMs <= scope.untilMs &&
        makingToken === (scope.making ?? makingToken) &&
        taking.token === (scope.taking ?? taking.token)
      );
    };
    const marked = [...orders.values()].filter(isMarked).map(({ orderHash }) => orderHash);
    const orderHashes = [scope.mark, ...marked];
    const hashes = orderHashes.map((orderHash) => ({ orderHash, makerIndex: 0 }));
    return { ...this.#mark({ makers: [{ maker, partition }], hashes, nowMs, lastsMs, budget }), orderHashes };
  }

  #instruct(request: InstructRequest): InstructOutcome {
    const { maker, partition, nowMs, lastsMs, count, mark, instruction, capsMax } = request;
    const { makers, cancelling } = this.#of(partition).tables;
    const exits = { ...noExits, ...makers.get(maker)?.exits };
    const marked = cancelling.flatMap((row) => (row.maker === maker && row.instruction ? [row.instruction] : []));
    const ofMaker = PlacementsInMemory.ignoresInstructions ? [] : marked;
    const decided = decideInstruction(exits, ofMaker, instruction, capsMax);
    const remaining = [REMAINING];
    if (decided.kind !== 'taken') return { ...decided, remaining };
    const isKnown = this.isTrusted && !this.#isQuarantined({ maker, partition });
    if (count === 0) return { kind: 'taken', untilMs: 0, isKnown, remaining };
    const untilMs = Math.max(nowMs, this.#nowMs()) + lastsMs;
    const row = { orderHash: mark, maker, untilMs, salt: '0x', expiresAtSeconds: 0, instruction } as const;
    this.#of(partition).cancel(row);
    return { kind: 'taken', untilMs, isKnown, remaining };
  }

  #isQuarantined({ maker, partition }: { readonly maker: Hex; readonly partition: number }): boolean {
    return (this.#of(partition).tables.makers.get(maker)?.quarantinedOffset ?? null) !== null;
  }

  #of(partition: number): RowsInMemory {
    const rows = this.#rows[partition];
    if (rows === undefined) throw new Error(`there is no partition ${partition}`);
    return rows;
  }
}
