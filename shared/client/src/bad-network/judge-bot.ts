import type { Hex } from '@makerbook/contracts-primitives';
import type { Lesson } from './read-exchange.js';

/** A judgement by name. */
export interface Verdict {
  readonly check: 'knows_every_order' | 'knows_every_end' | 'signs_reads_anew' | 'goes_on';
  readonly passed: boolean;
  /** Those of which the bot knows too little. */
  readonly orders: readonly Hex[];
}

/** What the service says of an order in the end. */
export type FinalState = { readonly isOpen: true } | { readonly isOpen: false; readonly endedAtMs: number };

interface Known {
  /** `stored`: by a request of the bot, to which it had no answer. Each of them overrules those before it. */
  what: (typeof LEVELS)[number];
  atMs: number;
}

const LEVELS = ['stored', 'known', 'open', 'ended'] as const;
/** A bot need not have heard yet what happened since, and need not have sent anything since. */
export const GRACE_MS = 30_000;

/**
 * What a bot can know of its maker's orders, by the answers that have reached it. A bot passes that asks until it was
 * told, and keeps to what it was told. Times are in milliseconds since 1970.
 */
export class BotJudge {
  readonly #orders = new Map<Hex, Known>();
  /** What the service has done without the bot's hearing of it at once. */
  readonly unanswered = { stored: new Set<Hex>(), ended: new Set<Hex>() };
  readonly #salts = new Set<string>();
  #isSaltRepeated = false;
  #lastSentMs: number;

  constructor(startMs: number) {
    this.#lastSentMs = startMs;
  }

  /** These orders are open, whether or not the bot hears of them. */
  expect(hashes: readonly Hex[], nowMs: number): void {
    this.#raise('known', hashes, nowMs);
  }

  /** The bot has sent something. @param salt that of a signed GET */
  noteRequest(nowMs: number, salt: string | null): void {
    this.#lastSentMs = nowMs;
    if (salt === null) return;
    this.#isSaltRepeated ||= this.#salts.has(salt);
    this.#salts.add(salt);
  }

  /**
   * The service has answered.
   * @param askedAtMs when the service was asked: the answer tells nothing of orders that came later
   * @param isHeard whether the answer has reached the bot
   */
  learn(lesson: Lesson, askedAtMs: number, nowMs: number, isHeard: boolean): void {
    if (!isHeard) {
      if (!lesson.isWrite) return;
      this.#raise('stored', lesson.open, nowMs);
      for (const hash of lesson.open) this.unanswered.stored.add(hash);
      for (const hash of lesson.ended) this.unanswered.ended.add(hash);
      return;
    }
    this.#raise('known', lesson.known, nowMs);
    this.#raise('open', lesson.open, nowMs);
    this.#raise('ended', lesson.ended, nowMs);
    if (!lesson.isWhole) return;
    const listed = new Set(lesson.open);
    const gone = [...this.#orders].filter(([hash, { atMs }]) => atMs < askedAtMs && !listed.has(hash));
    this.#raise(
      'ended',
      gone.map(([hash]) => hash),
      nowMs,
    );
  }

  /** Orders that the bot takes to be open. */
  get believedOpen(): readonly Hex[] {
    return this.#of('open');
  }

  /** @param states of the orders that are open, or that the bot takes to be open; undefined where nobody could ask */
  judge(nowMs: number, states?: ReadonlyMap<Hex, FinalState>): readonly Verdict[] {
    const sinceMs = nowMs - GRACE_MS;
    // The answer to an order that is unknown here is on its way: those of before were expected.
    const isOld = (hash: Hex) => (this.#orders.get(hash)?.atMs ?? nowMs) < sinceMs;
    const isUntold = (hash: Hex) => this.#orders.get(hash)?.what === 'stored';
    const open =
      states === undefined ? this.#of('stored') : [...states].flatMap(([hash, { isOpen }]) => (isOpen ? hash : []));
    const unknown = open.filter((hash) => isUntold(hash) && isOld(hash));
    const late = this.believedOpen.filter((hash) => {
      const state = states?.get(hash);
      return state?.isOpen === false && state.endedAtMs < sinceMs;
    });
    const verdict = (check: Verdict['check'], passed: boolean, orders: readonly Hex[] = []) => ({
      check,
      passed,
      orders,
    });
    return [
      verdict('knows_every_order', unknown.length === 0, unknown),
      ...(states === undefined ? [] : [verdict('knows_every_end', late.length === 0, late)]),
      verdict('signs_reads_anew', !this.#isSaltRepeated),
      verdict('goes_on', this.#lastSentMs >= sinceMs),
    ];
  }

  #of(wanted: Known['what']): readonly Hex[] {
    return [...this.#orders].flatMap(([hash, { what }]) => (what === wanted ? hash : []));
  }

  #raise(what: Known['what'], hashes: readonly Hex[], atMs: number): void {
    for (const hash of hashes) {
      const known = this.#orders.get(hash);
      if (known === undefined || LEVELS.indexOf(known.what) < LEVELS.indexOf(what))
        this.#orders.set(hash, { what, atMs });
    }
  }
}
