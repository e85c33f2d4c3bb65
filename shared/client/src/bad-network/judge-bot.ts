import type { Hex } from '@makerbook/contracts-primitives';
import type { Lesson } from './read-exchange.js';

/** The result of one check of the bot. */
export interface Verdict {
  readonly check: 'knows_every_order' | 'knows_every_end' | 'signs_reads_anew' | 'goes_on';
  readonly passed: boolean;
  /** The orders that fail the check. */
  readonly orders: readonly Hex[];
}

/** The state of an order in the service at the end of the run. */
export type FinalState = { readonly isOpen: true } | { readonly isOpen: false; readonly endedAtMs: number };

interface Known {
  /** `stored`: a request of the bot stored it, and got no answer. A later one of LEVELS overrules an earlier one. */
  what: (typeof LEVELS)[number];
  atMs: number;
}

const LEVELS = ['stored', 'known', 'open', 'ended'] as const;
/** A bot need not know yet what happened in the last 30 seconds. It may be silent for as long. */
export const GRACE_MS = 30_000;

/**
 * Tracks what a bot can know of its maker's orders from the answers that reached it. A bot passes if it asks until it
 * has an answer, and acts on it. Times are in milliseconds since 1970.
 */
export class BotJudge {
  readonly #orders = new Map<Hex, Known>();
  /** Orders stored or ended by a request whose answer did not reach the bot. */
  readonly unanswered = { stored: new Set<Hex>(), ended: new Set<Hex>() };
  readonly #salts = new Set<string>();
  #isSaltRepeated = false;
  #lastSentMs: number;

  constructor(startMs: number) {
    this.#lastSentMs = startMs;
  }

  /** Notes that these orders are open. The bot need not hear of them. */
  expect(hashes: readonly Hex[], nowMs: number): void {
    this.#raise('known', hashes, nowMs);
  }

  /** Notes a request of the bot. @param salt the salt of a signed GET */
  noteRequest(nowMs: number, salt: string | null): void {
    this.#lastSentMs = nowMs;
    if (salt === null) return;
    this.#isSaltRepeated ||= this.#salts.has(salt);
    this.#salts.add(salt);
  }

  /**
   * Notes an answer of the service.
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

  /** @param states of the orders that are open, or that the bot takes to be open; undefined if nobody could ask */
  judge(nowMs: number, states?: ReadonlyMap<Hex, FinalState>): readonly Verdict[] {
    const sinceMs = nowMs - GRACE_MS;
    // If an order is unknown here, its answer is in flight: `expect` has noted the older orders.
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
