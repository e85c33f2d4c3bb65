import { createHash } from 'node:crypto';
import {
  type BookRecord,
  bookClockKey,
  decodeMakerEvent,
  isTooLate,
  type MakerEvent,
  type MakerFact,
  type MakerObserved,
  type OrderSubmitted,
} from '@makerbook/contracts-events';
import type { Hex } from '@makerbook/contracts-primitives';
import {
  advanceLog,
  bookEntryOf,
  expirySeconds,
  fillsOf,
  hashKeyText,
  keptUntil,
  type LogClock,
  MakerDraft,
  makerViewOf,
  type OpenOrder,
  reasonOf,
  recordStart,
  rememberHashes,
  snapshotOf,
  startOfLog,
  type Transition,
  unknownMaker,
} from '@makerbook/domain';
import { nameAfter, type StoredRecord } from '@makerbook/kafka';
import type { HashRow, Projection } from '@makerbook/postgres';

/** A fact of the log, and when it was appended. */
export interface LoggedFact {
  readonly offset: bigint;
  readonly timeMs: number;
  readonly fact: MakerEvent;
}

/** A message that the feeds must hold, with the fact's offset and the maker. */
export interface ExpectedMessage {
  readonly offset: bigint;
  readonly id: string;
  readonly key: string;
  /** The JSON. For a tombstone, why the order left. */
  readonly content: string;
  readonly maker: Hex | undefined;
}

/** The rows that must be there when all facts before an offset are folded. */
export interface ExpectedRows {
  readonly makers: ReadonlyMap<Hex, string>;
  readonly history: number;
  readonly fills: number;
  /** Keyed by hash and maker. Includes those that may be forgotten. */
  readonly hashes: ReadonlyMap<string, HashRow>;
  readonly clock: LogClock;
  /** When the last fact was appended. */
  readonly clockMs: number;
  readonly book: Projection['book'];
}

interface Replayed {
  draft: MakerDraft;
  quarantine: { readonly offset: bigint; readonly clock: LogClock; readonly reason: string } | undefined;
}

/** Folds the whole log with `shared/domain`, fact after fact, to learn the expected messages and rows. */
export class Replay {
  /** All facts of the log that can be read and did not come too late. */
  readonly facts: LoggedFact[] = [];
  readonly messages: ExpectedMessage[] = [];
  /** Keyed by offset: the rows when all before it is folded. */
  readonly rows = new Map<bigint, ExpectedRows>();
  readonly history: string[] = [];
  /** The first report of each fill, keyed by its place on the chain. */
  readonly fills = new Map<string, string>();
  readonly parked = new Set<string>();
  readonly #hashes = rememberHashes();
  readonly #makers = new Map<Hex, Replayed>();
  #rowsOf: ReadonlyMap<Hex, string> = new Map();
  readonly #touched = new Set<Hex>();
  #hashRows: ReadonlyMap<string, HashRow> = new Map();
  #clock = startOfLog;
  #clockMs = 0;
  readonly #book = new Map<string, string>();
  readonly #partition: number;
  readonly #log: string | undefined;
  readonly #rules: { readonly routingGraceSeconds: number };
  /** Numbers the messages of the current fact. */
  #index = 0;
  #offset = 0n;

  constructor(records: readonly StoredRecord[], partition: number, routingGraceSeconds: number) {
    this.#partition = partition;
    this.#log = records[0] && nameAfter(records[0]);
    this.#rules = { routingGraceSeconds };
    let next = 0n;
    for (const record of records) {
      this.#mark(next, record.offset);
      next = record.offset + 1n;
      const fact = decodeMakerEvent(record);
      if ('unreadable' in fact) {
        this.parked.add(`${record.offset}`);
        continue;
      }
      if (isTooLate(record)) {
        this.#clockMs = record.timestampMs;
        continue;
      }
      this.#offset = record.offset;
      this.#index = 0;
      this.facts.push({ offset: record.offset, timeMs: record.timestampMs, fact });
      this.#fold(fact);
      this.#clockMs = record.timestampMs;
      const rowsOf = new Map(this.#rowsOf);
      for (const maker of this.#touched) rowsOf.set(maker, this.#describe(this.#makerOf(maker)));
      this.#rowsOf = rowsOf;
      this.#touched.clear();
    }
    this.#mark(next, next);
  }

  #takeFills(reading: MakerObserved): void {
    for (const { type: _, ...fill } of fillsOf(reading, this.#position()))
      this.#add(`${fill.blockNumber}:${fill.logIndex}`, JSON.stringify(fill), reading.maker);
    const { maker, fills = [] } = reading;
    for (const { orderHash, blockNumber, logIndex, taker, makingAmount, takingAmount, ...fill } of fills) {
      const place = `${blockNumber} ${logIndex}`;
      const { makingToken, takingToken, remaining, timestamp } = fill;
      const amounts = [taker, makingAmount, takingAmount, makingToken, takingToken, remaining, timestamp].join(' ');
      if (!this.fills.has(place)) this.fills.set(place, `${place} ${orderHash} ${maker} ${this.#offset} ${amounts}`);
    }
  }

  #mark(from: bigint, to: bigint): void {
    const rows = {
      makers: this.#rowsOf,
      history: this.history.length,
      fills: this.fills.size,
      hashes: this.#hashRows,
      clock: this.#clock,
      clockMs: this.#clockMs,
      book: this.#digestBook(),
    };
    for (let offset = from; offset <= to; offset += 1n) this.rows.set(offset, rows);
  }

  #fold(fact: MakerEvent): void {
    if (fact.type === 'ServiceModeSet') {
      const { mode } = fact;
      return this.#add('service', JSON.stringify({ mode, position: this.#position() }), undefined);
    }
    if (fact.type === 'WatcherResigned') return;
    if (fact.type !== 'BlockProcessed') this.#touched.add(fact.maker);
    if (fact.type === 'MakerObserved') this.#takeFills(fact);
    if (fact.type === 'QuarantineLifted') return this.#lift(fact.maker);
    if (fact.type !== 'BlockProcessed') {
      const one = this.#makerOf(fact.maker);
      this.#change(one, fact);
      if (one.quarantine !== undefined && fact.type === 'OrderSubmitted') this.#skip(fact);
      return;
    }
    const before = this.#clock;
    const clock = advanceLog(before, fact);
    if (clock.block > before.block) {
      for (const maker of [...this.#makers.keys()].sort()) {
        const one = this.#makerOf(maker);
        if (one.draft.dueAtSeconds > clock.seconds) continue;
        this.#touched.add(maker);
        if (one.quarantine === undefined) this.#take(one, one.draft.advance(clock, this.#offset));
      }
      const position = { partition: this.#partition, offset: String(this.#offset + 1n) };
      this.#publish(
        bookClockKey(this.#partition),
        { type: 'BookClock', block: fact.block, position, log: this.#log, book: this.#digestBook() },
        undefined,
      );
    }
    this.#clock = clock;
  }

  #change(one: Replayed, fact: MakerFact): void {
    if (one.quarantine !== undefined) return;
    try {
      this.#take(one, one.draft.apply(fact, { offset: this.#offset, clock: this.#clock }));
    } catch (error) {
      one.quarantine = { offset: this.#offset, clock: this.#clock, reason: (error as Error).message };
      this.parked.add(`${this.#offset} ${fact.maker}`);
      const inBook = [...one.draft.orders.values()].filter((order) => order.inBook);
      this.#put(one, (order) => ({ ...order, inBook: false }), Number.POSITIVE_INFINITY);
      for (const order of inBook) {
        this.#take(one, [{ kind: 'OrderWithheld', order, reason: 'QUARANTINED', offset: this.#offset }]);
      }
    }
  }

  #lift(maker: Hex): void {
    const one = this.#makerOf(maker);
    const { quarantine } = one;
    if (quarantine === undefined) return;
    const before = snapshotOf(one.draft);
    // Keep what this fold learns of hashes only if all facts can be folded.
    const hashes = rememberHashes(this.#hashes);
    const draft = new MakerDraft({ ...before, dueAtSeconds: 0 }, { ...this.#rules, ...hashes });
    const happened: Transition[] = [];
    let { clock } = quarantine;
    try {
      for (const { offset, fact } of this.facts) {
        if (offset < quarantine.offset || offset >= this.#offset) continue;
        const isBlock = fact.type === 'BlockProcessed';
        if (isBlock) clock = advanceLog(clock, fact);
        else if (!('maker' in fact) || fact.type === 'QuarantineLifted' || fact.maker !== maker) continue;
        const transitions = isBlock ? draft.advance(clock, offset) : draft.apply(fact, { offset, clock });
        hashes.note(transitions);
        happened.push(...transitions);
      }
    } catch {
      this.parked.add(`${this.#offset} ${maker}`);
      return;
    }
    one.quarantine = undefined;
    one.draft = draft;
    for (const transition of happened) this.#happen(transition, maker);
    const { admission, limits, nonce, exits } = one.draft;
    if (happened.some(({ kind }) => kind === 'MakerChanged')) {
      this.#take(one, [{ kind: 'MakerChanged', admission, limits, nonce, exits, offset: this.#offset }]);
    }
    const released = one.draft.release({ offset: this.#offset, clock: this.#clock });
    // The maker's orders enter the book as they are read.
    const outOfBook = (order: OpenOrder): OpenOrder => ({ ...order, inBook: false });
    this.#put(one, outOfBook, 0);
    this.#take(
      one,
      released.map((each) => (each.kind === 'OrderChanged' ? { ...each, order: outOfBook(each.order) } : each)),
    );
  }

  #take(one: Replayed, transitions: readonly Transition[]): void {
    const { maker } = one.draft;
    for (const transition of transitions) {
      this.#happen(transition, maker);
      if (transition.kind === 'MakerChanged') {
        const { type: _, ...view } = makerViewOf({ ...transition, maker }, this.#position());
        this.#add(maker, JSON.stringify(view), maker);
      }
      if (transition.kind === 'OrderWithheld') this.#withdraw(transition.order.orderHash, transition.reason, maker);
      if (transition.kind === 'OrderRemoved' && transition.order.inBook) {
        this.#withdraw(transition.order.orderHash, transition.reason, maker);
      }
      if ('causes' in transition && transition.order.inBook) {
        const { order, funding, causes } = transition;
        const entry = bookEntryOf(order, funding, causes, this.#position(), this.#rules);
        this.#publish(entry.orderHash, entry, maker);
      }
    }
  }

  #happen(transition: Transition, maker: Hex): void {
    this.#hashes.note([transition]);
    if (transition.kind === 'HashCancelled') {
      const { orderHash, expiresAtSeconds } = transition;
      const times = { expiresAtSeconds, keptUntilSeconds: 0 };
      this.#remember({ maker, orderHash, state: 'CANCELLED', salt: null, nonce: null, ...times });
    }
    if (transition.kind === 'OrderOpened') {
      const { orderHash, order } = transition.order;
      const times = {
        expiresAtSeconds: expirySeconds(transition.order),
        keptUntilSeconds: keptUntil(transition.order),
      };
      this.#remember({ maker, orderHash, state: 'ACCEPTED', salt: null, nonce: String(order.nonce), ...times });
    }
    if (!('order' in transition) || transition.kind === 'OrderObserved' || transition.kind === 'FundsChanged') return;
    const { kind, order, offset } = transition;
    const { orderHash, remaining, cappedUntil } = order;
    const note = (happened: string) =>
      this.history.push(`${offset} ${happened} ${orderHash} ${remaining} ${maker} ${cappedUntil}`);
    note(kind.slice(5).toUpperCase());
    if (kind === 'OrderOpened' && transition.isWithheld) note('WITHHELD');
  }

  /** An order of a maker in quarantine waits in the log. */
  #skip({ maker, orderHash, order }: OrderSubmitted): void {
    if (this.#hashRows.has(hashKeyText({ orderHash, maker }))) return;
    const times = { expiresAtSeconds: Number(order.expiresAt), keptUntilSeconds: 0 };
    const known = { nonce: String(BigInt(order.nonce)), ...times };
    this.#remember({ maker, orderHash, state: 'UNFOLDED', salt: order.salt, ...known });
  }

  #remember(row: HashRow): void {
    this.#hashRows = new Map(this.#hashRows).set(hashKeyText(row), row);
  }

  #publish(key: string, { type, ...record }: BookRecord, maker: Hex | undefined): void {
    if ('orderHash' in record) this.#book.set(key, `${key}:${record.remainingMakingAmount}:${record.status}`);
    this.#add(key, JSON.stringify(record), maker);
  }

  #withdraw(orderHash: Hex, removal: string, maker: Hex): void {
    this.#book.delete(orderHash);
    this.#add(orderHash, removal, maker);
  }

  #digestBook(): Projection['book'] {
    const hashes = [...this.#book.values()].map((text) => createHash('sha256').update(text).digest('hex'));
    const sum = hashes.reduce((one, hash) => (one + BigInt(`0x${hash}`)) % 2n ** 256n, 0n);
    return { entries: hashes.length, hash: `0x${sum.toString(16).padStart(64, '0')}` };
  }

  #add(key: string, content: string, maker: Hex | undefined): void {
    const id = `${this.#partition}:${this.#offset}:${this.#index}`;
    this.messages.push({ offset: this.#offset, id, key, content, maker });
    this.#index += 1;
  }

  #position() {
    return { partition: this.#partition, offset: String(this.#offset) };
  }

  #makerOf(maker: Hex): Replayed {
    const known = this.#makers.get(maker);
    if (known !== undefined) return known;
    const one: Replayed = {
      draft: new MakerDraft(unknownMaker(maker), { ...this.#rules, ...this.#hashes }),
      quarantine: undefined,
    };
    this.#makers.set(maker, one);
    return one;
  }

  #put(one: Replayed, change: (order: OpenOrder) => OpenOrder, dueAtSeconds: number): void {
    const orders = new Map([...one.draft.orders].map(([orderHash, order]) => [orderHash, change(order)]));
    one.draft = new MakerDraft({ ...snapshotOf(one.draft), orders, dueAtSeconds }, { ...this.#rules, ...this.#hashes });
  }

  #describe({ draft, quarantine }: Replayed): string {
    const { admission, limits, nonce, exits, dueAtSeconds, listVersion, funding, orders } = draft;
    return JSON.stringify([
      [admission, limits, exits, nonce === undefined ? null : [String(nonce.value), nonce.block]],
      Number.isFinite(dueAtSeconds) ? dueAtSeconds : null,
      quarantine === undefined ? null : [String(quarantine.offset), quarantine.reason, quarantine.clock],
      [...funding]
        .map(([token, { known, openOrders }]) => {
          return [token, openOrders, known && [String(known.balance), String(known.allowance), known.block]];
        })
        .sort(),
      [...orders.values()].map((order) => [
        recordStart(order),
        [String(order.acceptedOffset), order.acceptedAtMs, expirySeconds(order)],
        [String(order.remaining), order.isObserved, order.inBook, order.cappedUntil],
        [order.state.status, reasonOf(order.state)],
        order.byWallet ? order.signature : null,
      ]),
      [String(listVersion), orders.size],
    ]);
  }
}
