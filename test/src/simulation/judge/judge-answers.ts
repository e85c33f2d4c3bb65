import type { MakerEvent, OrdersCancelled } from '@makerbook/contracts-events';
import type { Account, OrderHistory, OrderReport } from '@makerbook/contracts-http';
import type { Address, Hex } from '@makerbook/contracts-primitives';
import { type Exits, isCapOn, noExits } from '@makerbook/domain';
import { isRefusal } from '@makerbook/http';
import { partitionOf } from '@makerbook/kafka';
import { GRACE_SECONDS, type MakersAtWork } from '../chain/act-on-chain.js';
import { lineOf, offsetOf } from '../describe-entry.js';
import { MAKERS } from '../plan-run.js';
import { readerOf, type Visit } from '../visit-service.js';
import { isIn } from './judge-exits.js';
import { historyOf } from './judge-histories.js';
import type { LoggedFact, Replay } from './replay-log.js';

export interface JudgeAnswersParts {
  readonly visits: readonly Visit[];
  readonly orders: MakersAtWork['orders'];
  /** The plain fold of each partition. */
  readonly replays: readonly Replay[];
  readonly openOrdersMax: number;
  /** How many orders a maker's budget holds when full. */
  readonly ordersBurst: number;
  /** When each cancellation was first marked in Postgres. A list waits only for these. */
  readonly markedAtMs: ReadonlyMap<Hex, number>;
}

/** Finds answers that differ from the log. */
export function judgeAnswers(parts: JudgeAnswersParts): string[] {
  const judge = new AnswerJudge(parts);
  const visits = parts.visits.flatMap((visit) => judge.judge(visit));
  return [...visits, ...judge.judgeLog(), ...judge.judgeLimits(), ...judge.judgeReaders()];
}

class AnswerJudge {
  readonly #parts: JudgeAnswersParts;
  readonly #submitted = new Map<Hex, LoggedFact[]>();
  readonly #cancelled = new Map<Hex, LoggedFact[]>();
  /** Orders that were in the log when their maker cancelled all of their token. */
  readonly #cutOff = new Map<Hex, LoggedFact[]>();
  readonly #labelOf: ReadonlyMap<Hex, string>;
  readonly #accepted = new Map<Hex, number>();

  constructor(parts: JudgeAnswersParts) {
    this.#parts = parts;
    this.#labelOf = new Map(parts.orders.map(({ hash, label }) => [hash, label]));
    for (const logged of parts.replays.flatMap(({ facts }) => facts)) {
      const { fact } = logged;
      const add = (told: Map<Hex, LoggedFact[]>, hash: Hex) => told.set(hash, [...(told.get(hash) ?? []), logged]);
      if (fact.type === 'OrdersCancelled') {
        for (const [hash, [first]] of this.#submitted) if (first && isMeant(first.fact, fact)) add(this.#cutOff, hash);
      }
      if (fact.type === 'OrderSubmitted') add(this.#submitted, fact.orderHash);
      if (fact.type === 'OrderCancelled') add(this.#cancelled, fact.orderHash);
    }
  }

  judge(visit: Visit): string[] {
    const { number, kind, answer } = visit;
    if (answer === undefined) return [];
    return [...this.#judgeKind(visit), ...this.#judgeReader(visit)].map((what) => `visit ${number}, ${kind}: ${what}`);
  }

  /** A key may read only what its maker once let it read. */
  #judgeReader({ maker, right, answer }: Visit): string[] {
    if (right === undefined || answer === undefined || isRefusal(answer.reply)) return [];
    const partition = partitionOf(maker, this.#parts.replays.length);
    const wasNamed = this.#parts.replays[partition]?.facts.some(
      ({ fact, offset }) =>
        fact.type === 'CancelKeysSet' &&
        fact.maker === maker &&
        fact[`${right}Keys`]?.includes(readerOf(maker)) &&
        offset < (answer.at[partition] ?? 0n),
    );
    return wasNamed ? [] : [`a key that may not read this was answered`];
  }

  /** In the end each key lists for its maker if the newest instruction says so, and only then. */
  judgeReaders(): string[] {
    const last = this.#parts.visits.filter(({ kind, right }) => kind === 'GET' && right !== undefined).slice(-MAKERS);
    return last.flatMap(({ maker, answer }) => {
      const replay = this.#parts.replays[partitionOf(maker, this.#parts.replays.length)];
      const described = [...(replay?.rows.values() ?? [])].at(-1)?.makers.get(maker) ?? '[["",{},{}]]';
      const [[, , { readKeys = {} }]] = JSON.parse(described) as [[string, object, Partial<Exits>]];
      const mayRead = readKeys.listKeys?.includes(readerOf(maker)) === true;
      const isRead = answer !== undefined && !isRefusal(answer.reply);
      return isRead === mayRead ? [] : [`in the end the key of ${maker} ${mayRead ? 'may not list' : 'may list'}`];
    });
  }

  #judgeKind(visit: Visit): string[] {
    switch (visit.kind) {
      case 'GET':
        return this.#judgeList(visit);
      case 'ACCOUNT':
        return this.#judgeAccount(visit);
      case 'ORDER':
        return this.#judgeOrder(visit);
      case 'HISTORY':
        return this.#judgeHistory(visit);
      case 'POST':
        return visit.hashes.flatMap((hash, index) => this.#judgePlaced(visit, hash, index));
      case 'DELETE':
        return visit.hashes.flatMap((hash, index) => this.#judgeCancelled(visit, hash, index));
      case 'SALTS':
        return this.#judgeSalted(visit);
      case 'REPLACE':
        return this.#judgeReplaced(visit);
      case 'ALL':
      case 'BEAT':
      case 'CAP':
      case 'KEYS':
        return this.#judgeExit(visit);
      case 'STREAM':
        return [];
    }
  }

  /** Finds orders that nobody has sent, and orders that opened twice. */
  judgeLog(): string[] {
    const { visits } = this.#parts;
    const sent = (...kinds: Visit['kind'][]) =>
      visits.flatMap(({ kind, hashes }) => (kinds.includes(kind) ? hashes : []));
    const posted = new Set(sent('POST', 'REPLACE'));
    const cancelled = new Set([...sent('DELETE', 'SALTS'), ...visits.flatMap(({ replaced }) => replaced)]);
    const invented = [
      ...[...this.#submitted.keys()].filter((hash) => this.#labelOf.has(hash) && !posted.has(hash)),
      ...[...this.#cancelled.keys()].filter((hash) => !cancelled.has(hash)),
    ].map((hash) => `${this.#name(hash)} is in the log, and nobody has sent it`);
    const twice = [...this.#submitted.keys()].filter((hash) => this.#openings(hash).length > 1);
    return [...invented, ...twice.map((hash) => `${this.#name(hash)} opened twice`), ...this.#judgeReplacements()];
  }

  /**
   * Finds makers with more open orders than allowed. Orders without an answer do not count, because they may come late.
   * Neither do orders whose cancellation was sent, or that have expired, even while their own request waited.
   */
  judgeLimits(): string[] {
    const confirmed = new Set(this.#accepted.keys());
    return this.#parts.replays.flatMap(({ history }) => {
      const open = new Map<string, Set<string>>();
      return history.flatMap((line) => {
        const [offset = '', happened, hash = '', , maker = ''] = line.split(' ');
        const own = open.get(maker) ?? new Set();
        open.set(maker, own);
        if (happened === 'REMOVED') own.delete(hash);
        if (happened !== 'OPENED' || !confirmed.has(hash as Hex)) return [];
        // The fact that opened the order also removed it, for example because its nonce has passed.
        if (!this.#lives(hash as Hex).includes(BigInt(offset))) return [];
        const [first] = this.#submitted.get(hash as Hex) ?? [];
        const atMs = first?.timeMs ?? 0;
        own.add(hash);
        for (const each of own)
          if (this.#isExpired(each as Hex, atMs, 10_000) || this.#isToGo(each as Hex, atMs)) own.delete(each);
        return own.size <= this.#parts.openOrdersMax
          ? []
          : [`${this.#name(hash as Hex)} opened at ${offset} as one too many`];
      });
    });
  }

  #isCancelledFirst(hash: Hex): boolean {
    const [[cancel], [submission]] = [this.#cancelled.get(hash) ?? [], this.#submitted.get(hash) ?? []];
    return cancel !== undefined && submission !== undefined && cancel.offset < submission.offset;
  }

  /** Whether the order's cancellation was sent by then. */
  #isToGo(hash: Hex, atMs: number): boolean {
    const [first] = this.#submitted.get(hash) ?? [];
    return this.#parts.visits.some(({ kind, maker, hashes, replaced, scope, sentAtMs }) => {
      if (sentAtMs > atMs) return false;
      if (kind === 'DELETE' || kind === 'SALTS') return hashes.includes(hash);
      if (kind === 'REPLACE') return replaced.includes(hash);
      return scope !== undefined && first !== undefined && isMeant(first.fact, { maker, ...scope });
    });
  }

  /** Looks in the log for an instruction answered with 200, from this request or another with the same message. */
  #judgeExit(visit: Visit): string[] {
    const { maker, signature, answer } = visit;
    if (answer === undefined) return [];
    const superseding = this.#supersede(visit);
    if (isRefusal(answer.reply)) {
      return answer.reply.code === 'superseded' && !superseding.maybe ? ['it was superseded by nothing'] : [];
    }
    if (doesCount(answer) && superseding.surely) return ['it is said to count, and a newer one did before'];
    const partition = partitionOf(maker, this.#parts.replays.length);
    const same = this.#parts.visits.filter((other) => other.signature === signature);
    const requests = new Set(same.map(({ number }) => `visit ${number}`));
    const isLogged = this.#parts.replays[partition]?.facts.some(
      ({ fact, offset }) => requests.has(requestOf(fact)) && offset < (answer.at[partition] ?? 0n),
    );
    return isLogged ? [] : ['it was answered with 200, and is not in the log'];
  }

  /**
   * Maybe: an instruction on the same subject, at least as new, was sent before this one was answered. Surely: a newer
   * one was answered before this one was sent.
   */
  #supersede({ maker, number, instruction, sentAtMs, answer }: Visit) {
    const others = this.#parts.visits.filter(
      (other) =>
        other.number !== number &&
        other.maker === maker &&
        instruction !== undefined &&
        other.instruction?.subject === instruction.subject &&
        other.instruction.issuedAtMs >= instruction.issuedAtMs,
    );
    const maybe = others.some((other) => other.sentAtMs <= (answer?.atMs ?? 0));
    const surely = others.some((other) => {
      const isNewer = (other.instruction?.issuedAtMs ?? 0) > (instruction?.issuedAtMs ?? 0);
      return isNewer && other.answer !== undefined && other.answer.atMs < sentAtMs && doesCount(other.answer);
    });
    return { maybe, surely };
  }

  #isExpired(hash: Hex, atMs: number, spareMs: number): boolean {
    const order = this.#parts.orders.find((each) => each.hash === hash);
    return order !== undefined && order.expiresAt * 1000 <= atMs + spareMs;
  }

  #judgePlaced(visit: Visit, hash: Hex, index: number): string[] {
    const { maker, answer } = visit;
    if (answer === undefined) return [];
    const { reply, at } = answer;
    const partition = this.#partitionOf(maker, hash);
    const end = at[partition] ?? 0n;
    const isBefore = ({ offset }: LoggedFact) => offset < end;
    const submitted = (this.#submitted.get(hash) ?? []).filter(isBefore);
    const cancelled = (this.#cancelled.get(hash) ?? []).filter(isBefore);
    if (isRefusal(reply)) {
      if (reply.code === 'too_many_orders' && reply['index' as never] === index) return this.#judgeTooMany(visit, hash);
      const isKnown = submitted.length > 0 || cancelled.length > 0;
      if (reply.code !== 'duplicate' || reply['index' as never] !== index || isKnown) return [];
      return [`${this.#name(hash)} is a duplicate, and is not in the log`];
    }
    const times = (this.#accepted.get(hash) ?? 0) + 1;
    this.#accepted.set(hash, times);
    if (submitted.length === 0) return [`${this.#name(hash)} was answered with 200, and is not in the log`];
    if (times > 1) return [`${this.#name(hash)} was accepted twice`];
    const isOpened = this.#openings(hash).length > 0;
    return isOpened || this.#isCancelledFirst(hash)
      ? []
      : [`${this.#name(hash)} was answered with 200, and never opened`];
  }

  /** A maker that has never sent so many orders cannot have too many. */
  #judgeTooMany({ hashes, answer }: Visit, refused: Hex): string[] {
    const makerOf = (hash: Hex) => this.#parts.orders.find((order) => order.hash === hash)?.maker;
    const sent = this.#parts.visits.filter(
      ({ kind, sentAtMs }) => ['POST', 'REPLACE'].includes(kind) && sentAtMs <= (answer?.atMs ?? 0),
    );
    const own = new Set(sent.flatMap((visit) => visit.hashes).filter((hash) => makerOf(hash) === makerOf(refused)));
    const isBeyond = own.size > this.#parts.openOrdersMax || hashes.length > this.#parts.ordersBurst;
    return isBeyond ? [] : [`${this.#name(refused)} is one too many, and its maker has sent ${own.size} orders`];
  }

  /** The named orders are cancelled. Others that were accepted in time and answered before had ended. */
  #judgeSalted(visit: Visit): string[] {
    const { maker, hashes, answer, sentAtMs, untilMs = 0 } = visit;
    if (answer === undefined || isRefusal(answer.reply)) return [];
    const named: Hex[] = JSON.parse(String(answer.reply.body)).map((each: { orderHash: Hex }) => each.orderHash);
    const others = named.filter((hash) => !hashes.includes(hash));
    const answered = this.#parts.visits.flatMap((other) => {
      const isBefore = other.answer !== undefined && other.answer.atMs < sentAtMs && !isRefusal(other.answer.reply);
      return isBefore && ['POST', 'REPLACE'].includes(other.kind) ? other.hashes : [];
    });
    const end = answer.at[partitionOf(maker, this.#parts.replays.length)] ?? 0n;
    const missed = hashes.filter((hash) => {
      const [first] = this.#submitted.get(hash) ?? [];
      const isMeant = first?.fact.type === 'OrderSubmitted' && first.fact.acceptedAtMs <= untilMs;
      if (named.includes(hash) || !isMeant || !answered.includes(hash)) return false;
      const [removal = end] = this.#removals(hash);
      return this.#lives(hash).some((offset) => offset < end) && removal >= end;
    });
    return [
      ...others.map((hash) => `${this.#name(hash)} is cancelled, and has another salt`),
      ...missed.map((hash) => `${this.#name(hash)} is open, and is not cancelled by its salt`),
      ...named.flatMap((hash, index) => this.#judgeCancelled(visit, hash, index)),
    ];
  }

  /** The log holds both lists or neither. No fills were seen before except those that the request knows. */
  #judgeReplaced(visit: Visit): string[] {
    const { replaced, expectedFills, seenFills, answer } = visit;
    const isStored = answer !== undefined && !isRefusal(answer.reply);
    const added = replaced.filter((_, at) => seenFills[at] !== undefined && seenFills[at] !== expectedFills[at]);
    return [
      ...(isStored ? added.map((hash) => `${this.#name(hash)} is replaced, and another amount of it was filled`) : []),
      ...visit.hashes.flatMap((hash, index) => this.#judgePlaced(visit, hash, index)),
      ...visit.replaced.flatMap((hash, index) => this.#judgeCancelled(visit, hash, index)),
    ];
  }

  /** The facts of a replacement are neighbours in the log. An order is replaced only once. */
  #judgeReplacements(): string[] {
    const visits = this.#parts.visits.filter(({ kind }) => kind === 'REPLACE');
    const replacedBy = new Map<Hex, number>();
    return visits.flatMap(({ number, hashes, replaced }) => {
      const own = (told: Map<Hex, LoggedFact[]>, hash: Hex) =>
        (told.get(hash) ?? []).filter(({ fact }) => requestOf(fact) === `visit ${number}`);
      const facts = [
        ...replaced.map((hash) => own(this.#cancelled, hash)),
        ...hashes.map((hash) => own(this.#submitted, hash)),
      ];
      if (facts.every((told) => told.length === 0)) return [];
      const [first] = facts[0] ?? [];
      const areNeighbours = facts.every(([told], n) => told?.offset === (first?.offset ?? 0n) + BigInt(n));
      const wrong = areNeighbours ? [] : [`visit ${number}, REPLACE: the log has a part of it`];
      for (const hash of replaced) {
        const other = replacedBy.get(hash);
        if (other !== undefined) wrong.push(`${this.#name(hash)} is replaced by visit ${other} and visit ${number}`);
        replacedBy.set(hash, number);
      }
      return wrong;
    });
  }

  #judgeCancelled(visit: Visit, hash: Hex, index: number): string[] {
    const { kind, maker, answer, receivedAtMs } = visit;
    if (answer === undefined || isRefusal(answer.reply)) return [];
    const body = JSON.parse(String(answer.reply.body));
    const { status } = (kind === 'REPLACE' ? body.cancelled : body)[index];
    const partition = this.#partitionOf(maker, hash);
    const end = answer.at[partition] ?? 0n;
    if (status === 'CANCELLED') {
      const [first] = this.#cancelled.get(hash) ?? [];
      if (first === undefined || first.offset >= end)
        return [`${this.#name(hash)} is CANCELLED, and that is not in the log`];
      if (this.#lives(hash).some((offset) => offset > first.offset))
        return [`${this.#name(hash)} opened after it was CANCELLED`];
      return this.#isOpenAtEnd(hash) ? [`${this.#name(hash)} is CANCELLED, and open in the end`] : [];
    }
    // After NOT_FOUND, only an order that is posted again may be open.
    const later = new Set(
      this.#parts.visits
        .filter((other) => ['POST', 'REPLACE'].includes(other.kind) && other.receivedAtMs >= receivedAtMs)
        .map(({ number }) => `visit ${number}`),
    );
    const isOld = ({ fact }: LoggedFact) => !later.has(requestOf(fact));
    const [opening] = this.#lives(hash);
    const told = (this.#submitted.get(hash) ?? []).find(({ offset }) => offset === opening);
    if (told === undefined || !isOld(told)) return [];
    const removal = this.#removals(hash)[0];
    return removal !== undefined && removal < end
      ? []
      : [`${this.#name(hash)} is NOT_FOUND, and is open at ${end} or comes later`];
  }

  /** An order accepted before is known. Its timeline covers all that was answered before. */
  #judgeOrder(visit: Visit): string[] {
    const {
      maker,
      hashes: [hash = '0x'],
      sentAtMs,
      answer,
      asOf,
    } = visit;
    if (answer === undefined) return [];
    if (asOf !== undefined) return this.#judgeOrderThen(visit, asOf);
    const { reply } = answer;
    const from = this.#behindWrites(maker, sentAtMs);
    const replay = this.#parts.replays[this.#partitionOf(maker, hash)];
    const expected = replay === undefined ? [] : historyOf(replay, maker).filter((line) => line.hash === hash);
    const needed = expected.filter(({ offset }) => offset < from);
    // Fills are also told of orders that nobody has placed.
    const isKnown = needed.some(({ line }) => line.includes(' OPENED '));
    if (isRefusal(reply)) {
      const isWrong = reply.code === 'gone' || (reply.code === 'not_found' && isKnown);
      return isWrong ? [`${this.#name(hash)} is ${reply.code}, and opened before ${from}`] : [];
    }
    const report: OrderReport = JSON.parse(String(reply.body));
    const is = report.timeline.map((entry) => lineOf(entry, hash));
    const must = expected.slice(0, is.length).map(({ line }) => line);
    if (is.join() !== must.join()) return [`the timeline of ${this.#name(hash)} is ${is}, and must be ${must}`];
    const sums = sumsOf(report);
    if (sums !== undefined) return [`the report of ${this.#name(hash)} ${sums}: ${is}`];
    return is.length >= needed.length || reply.headers?.['X-Read-Lag'] !== undefined
      ? []
      : [`the timeline of ${this.#name(hash)} has ${is.length} entries of ${needed.length}`];
  }

  /** The timeline up to a moment is whole, unless facts were folded later. A future moment is refused. */
  #judgeOrderThen({ maker, hashes: [hash = '0x'], answer }: Visit, { at, end }: NonNullable<Visit['asOf']>): string[] {
    if (answer === undefined) return [];
    const partition = this.#partitionOf(maker, hash);
    const replay = this.#parts.replays[partition];
    const facts = replay?.facts ?? [];
    const [first = '', offset] = at.split(':');
    const blocks = facts.flatMap(({ fact, offset: of }) =>
      fact.type === 'BlockProcessed' ? [{ number: fact.block.number, offset: of }] : [],
    );
    const last = blocks.findLast(({ number }) => number <= Number(first));
    const before = offset === undefined ? (last?.offset ?? -1n) + 1n : BigInt(offset) + 1n;
    const isReached = offset !== undefined || blocks.some((one) => one.number >= Number(first) && one.offset < end);
    const lines = replay === undefined ? [] : historyOf(replay, maker);
    const must = lines.filter((line) => line.hash === hash && line.offset < before).map(({ line }) => line);
    const isHeld = facts.some(({ fact }) => fact.type === 'QuarantineLifted' && fact.maker === maker);
    const { reply } = answer;
    if (isRefusal(reply)) {
      // The log may repeat the block behind what the rows had at the time of the request.
      const first = blocks.find(({ number }) => number === last?.number)?.offset ?? -1n;
      const opened = lines.find(({ hash: of, line }) => of === hash && line.includes(' OPENED '));
      const wasKnown = opened !== undefined && opened.offset < (offset === undefined ? first : before);
      const isKnown = wasKnown && !isHeld;
      const isWrong = (reply.code === 'invalid_request' && isReached) || (reply.code === 'not_found' && isKnown);
      return isWrong || reply.code === 'gone' ? [`${this.#name(hash)} at ${at} is ${reply.code}, and was ${must}`] : [];
    }
    const { timeline }: OrderReport = JSON.parse(String(reply.body));
    const is = timeline.map((entry) => lineOf(entry, hash));
    const isRight = (isHeld ? must.slice(0, is.length) : must).join() === is.join();
    return isRight ? [] : [`the timeline of ${this.#name(hash)} up to ${at} is ${is}, and must be ${must}`];
  }

  /** The last page includes every write that was answered to the maker before. */
  #judgeHistory({ maker, sentAtMs, answer }: Visit): string[] {
    if (answer === undefined || isRefusal(answer.reply) || answer.reply.headers?.['X-Read-Lag'] !== undefined)
      return [];
    const { hasMore, nextCursor }: OrderHistory = JSON.parse(String(answer.reply.body));
    const from = this.#behindWrites(maker, sentAtMs);
    return hasMore || offsetOf(nextCursor) >= from ? [] : [`the history ends at ${nextCursor}, before ${from}`];
  }

  /**
   * The list is that of a position behind every write that was answered to the maker before. The rows of a quarantined
   * maker do not change, so the orders that were cancelled before are looked for first.
   */
  #judgeList({ maker, sentAtMs, answer }: Visit): string[] {
    if (answer === undefined || isRefusal(answer.reply)) return [];
    const { reply, at, atMs } = answer;
    const partition = partitionOf(maker, this.#parts.replays.length);
    const rows = this.#parts.replays[partition]?.rows;
    const isWhole = reply.headers?.['X-Read-Lag'] === undefined;
    const from = isWhole ? this.#behindWrites(maker, sentAtMs) : 0n;
    const is = String(reply.body);
    const shown = isWhole ? this.#endedBefore(maker, sentAtMs).find(([hash]) => is.includes(hash)) : undefined;
    if (shown !== undefined) return [`the list shows ${this.#name(shown[0])}, which was cancelled before`];
    const tried = new Set<string | undefined>();
    for (let offset = from; offset <= (at[partition] ?? 0n); offset += 1n) {
      const expected = rows?.get(offset)?.makers.get(maker);
      if (tried.has(expected)) continue;
      tried.add(expected);
      const nowSeconds = Math.floor(atMs / 1000);
      for (let seconds = nowSeconds - 20; seconds <= nowSeconds; seconds += 1) {
        if (is === listOf(expected, seconds)) return [];
      }
    }
    return [`the list is\n    ${is}, and at ${from} is\n    ${listOf(rows?.get(from)?.makers.get(maker), 0)}`];
  }

  /** The account is that of its position. The position is behind every write answered to the maker before. */
  #judgeAccount({ maker, sentAtMs, answer }: Visit): string[] {
    if (answer === undefined || isRefusal(answer.reply)) return [];
    const { reply, atMs } = answer;
    const account: Account = JSON.parse(String(reply.body));
    const [partition, position] = account.position.split(':').map(BigInt) as [bigint, bigint];
    const from = reply.headers?.['X-Read-Lag'] === undefined ? this.#behindWrites(maker, sentAtMs) : 0n;
    if (position < from) return [`the account is of ${position}, before ${from}`];
    const replay = this.#parts.replays[Number(partition)];
    const rows = replay?.rows.get(position);
    const nowSeconds = Math.floor(atMs / 1000);
    // The clock advances while the facts of a quarantined maker wait.
    const seconds = account.isQuarantined ? account.block?.timestamp : rows?.clock.seconds;
    // A block that many makers wait for is folded in pieces. This maker's piece may be in the rows.
    const next = replay?.facts.find(({ offset }) => offset === position);
    const all = next?.fact.type === 'BlockProcessed' ? [rows, replay?.rows.get(position + 1n)] : [rows];
    const are = all.flatMap((each) => accountsOf(each?.makers.get(maker), seconds ?? 0, nowSeconds));
    const { admission, nonce, openOrders, cancelKeys, switch: armed, caps } = account;
    const is = JSON.stringify([admission, nonce, openOrders.count, cancelKeys, armed, caps]);
    return are.includes(is) ? [] : [`the account is ${is}, and at ${position} is ${are[0]}`];
  }

  /** The position behind the maker's facts that had been answered with 200 by then. */
  #behindWrites(maker: Address, atMs: number): bigint {
    const isWritten = this.#writtenBefore(maker, atMs);
    const placed = [...this.#submitted.values()].flatMap((told) => told.filter(isWritten).slice(0, 1));
    // A cancellation that repeats another, or comes after the order's end, changes nothing.
    const ended = this.#endedBefore(maker, atMs).flatMap(([hash, told]) => {
      const [first] = [...told.map(({ offset }) => offset), ...this.#removals(hash)].toSorted((a, b) =>
        a < b ? -1 : 1,
      );
      return first ?? [];
    });
    return [...placed.map(({ offset }) => offset), ...ended].reduce((to, at) => (at >= to ? at + 1n : to), 0n);
  }

  /** Orders whose cancellation had been answered and marked by then. Postgres marks none while it is down. */
  #endedBefore(maker: Address, atMs: number): (readonly [Hex, readonly LoggedFact[]])[] {
    const isWritten = this.#writtenBefore(maker, atMs);
    return [...this.#cancelled, ...this.#cutOff].filter(([hash, told]) => {
      const markedAtMs = this.#parts.markedAtMs.get(hash);
      return told.some(isWritten) && markedAtMs !== undefined && markedAtMs <= atMs;
    });
  }

  /** Whether a fact of the maker had been answered with 200 by then. */
  #writtenBefore(maker: Address, atMs: number): (told: LoggedFact) => boolean {
    const answered = this.#parts.visits.filter(
      ({ kind, maker: whose, answer }) =>
        ['POST', 'DELETE', 'REPLACE', 'ALL'].includes(kind) &&
        whose === maker &&
        answer !== undefined &&
        answer.atMs <= atMs &&
        !isRefusal(answer.reply),
    );
    const numbers = new Set(answered.map(({ number }) => `visit ${number}`));
    return ({ fact }) => 'maker' in fact && fact.maker === maker && numbers.has(requestOf(fact));
  }

  #openings(hash: Hex): bigint[] {
    return this.#linesOf(hash, 'OPENED');
  }

  /** Offsets at which the order opened and stayed open. An order that was cancelled before is removed at once. */
  #lives(hash: Hex): bigint[] {
    const removals = this.#removals(hash);
    return this.#openings(hash).filter((offset) => !removals.includes(offset));
  }

  #removals(hash: Hex): bigint[] {
    return this.#linesOf(hash, 'REMOVED');
  }

  #isOpenAtEnd(hash: Hex): boolean {
    return this.#openings(hash).length > this.#removals(hash).length;
  }

  #linesOf(hash: Hex, happened: string): bigint[] {
    return this.#parts.replays.flatMap(({ history }) =>
      history.filter((line) => line.includes(` ${happened} ${hash} `)).map((line) => BigInt(line.split(' ')[0] ?? 0)),
    );
  }

  #partitionOf(maker: Address, hash: Hex): number {
    const order = this.#parts.orders.find((each) => each.hash === hash);
    return partitionOf(order?.maker ?? maker, this.#parts.replays.length);
  }

  #name(hash: Hex): string {
    return this.#labelOf.get(hash) ?? hash;
  }
}

/** The id of the request that led to the fact, empty if none did. */
function requestOf(fact: MakerEvent): string {
  return 'cause' in fact && fact.cause.kind === 'request' ? fact.cause.requestId : '';
}

/** Says what is wrong with the sums of a report whose timeline has all fills. */
function sumsOf({ order, timeline, remainingMakingAmount, filledMakingAmount, filledAfterEnd = '0x0' }: OrderReport) {
  const end = timeline.findIndex(({ happened }) => happened === 'REMOVED');
  const sum = (entries: OrderReport['timeline']) =>
    entries.reduce((total, one) => total + (one.happened === 'FILLED' ? BigInt(one.makingAmount) : 0n), 0n);
  const amount = BigInt(order.making.amount);
  const [filled, late, told] = [BigInt(filledMakingAmount), BigInt(filledAfterEnd), sum(timeline)];
  // Fills from long before the maker's admission are not told.
  const isShown = [told, ...timeline.map(({ remainingMakingAmount: left }) => amount - BigInt(left ?? amount))];
  if (!isShown.includes(filled) || isShown.some((one) => one > filled))
    return `says that ${filled} was filled, not ${told}`;
  if (BigInt(remainingMakingAmount) + filled !== amount) return `has ${remainingMakingAmount} left, of ${amount}`;
  const mayBeLate = end < 0 ? 0n : sum(timeline.slice(end));
  return late > mayBeLate ? `says that ${late} was filled after its end, not ${mayBeLate}` : undefined;
}

/** True if the maker meant the order when it cancelled all of its token. */
function isMeant(submitted: MakerEvent, scope: Omit<OrdersCancelled, 'type' | 'cause'>): boolean {
  return submitted.type === 'OrderSubmitted' && submitted.maker === scope.maker && isIn(submitted, scope);
}

/** The body of a list, for a maker as a replay describes it. */
function listOf(described: string | undefined, nowSeconds: number): string {
  if (described === undefined) return '[]';
  type Described = [string, [string, number, number], [string, boolean, boolean, number], [string, string | null]];
  const orders = JSON.parse(described)[4] as Described[];
  const records = orders
    .filter(([, [, , expiresAtSeconds]]) => expiresAtSeconds > nowSeconds)
    .map(([start, [, , expiresAtSeconds], [remaining, , , cappedUntil], [status, reason]]) => {
      const { amount } = JSON.parse(`${start}}`).order.making;
      const rest =
        BigInt(remaining) < BigInt(amount) ? `,"remainingMakingAmount":"0x${BigInt(remaining).toString(16)}"` : '';
      const capped = cappedUntil === 0 ? '' : `,"cappedUntil":${cappedUntil}`;
      const until = `,"routableUntil":${Math.max(0, expiresAtSeconds - GRACE_SECONDS)}`;
      return `${start},"status":"${status}"${status !== 'INACTIVE' ? '' : `,"reason":"${reason}"`}${until}${rest}${capped}}`;
    });
  return `[${records.join(',')}]`;
}

/** The possible accounts of a maker as a replay describes it. Orders may expire before the answer. */
function accountsOf(described: string | undefined, seconds: number, nowSeconds: number): string[] {
  type Orders = [string, [string, number, number]][];
  type Described = [[string, object, Partial<Exits>, [string, number] | null], unknown, unknown, unknown, Orders];
  const [[admission, , given, nonce], , , , orders] = JSON.parse(
    described ?? '[["UNKNOWN",{},{},null],0,0,0,[]]',
  ) as Described;
  const { cancelKeys, readKeys, keysIssuedAtMs, cancelAt, switchIssuedAtMs, switchKey, caps } = {
    ...noExits,
    ...given,
  };
  const armed = {
    cancelAt,
    hasFired: cancelAt > 0 && cancelAt <= seconds,
    key: switchKey,
    issuedAtMs: switchIssuedAtMs,
  };
  const told = caps.filter(isCapOn).map(({ token, amount, windowSeconds, filled, untilSeconds, issuedAtMs }) => {
    const isOpen = untilSeconds > seconds;
    const capped = isOpen && BigInt(filled) > BigInt(amount) ? { cappedUntil: untilSeconds } : {};
    const window = { filled: isOpen ? filled : '0x0', windowEndsAt: isOpen ? untilSeconds : null };
    return { token, amount, windowSeconds, ...window, ...capped, issuedAtMs };
  });
  return Array.from({ length: 21 }, (_, ago) => {
    const open = orders.filter(([, [, , expiresAtSeconds]]) => expiresAtSeconds > nowSeconds - ago).length;
    const of = nonce === null ? null : `0x${BigInt(nonce[0]).toString(16)}`;
    const named = { keys: cancelKeys, ...readKeys, issuedAtMs: keysIssuedAtMs };
    return JSON.stringify([admission, of, open, named, armed, told]);
  });
}

/** Whether an instruction was answered as one that counts from then on. */
function doesCount({ reply }: NonNullable<Visit['answer']>): boolean {
  return !isRefusal(reply) && (JSON.parse(String(reply.body)) as { counts?: unknown }).counts != null;
}
