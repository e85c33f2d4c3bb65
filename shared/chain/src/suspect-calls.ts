import { accountIn, type StateCall } from './encode-calls.js';

/** The most suspects to remember. The oldest is dropped first. */
const SUSPECTS_MAX = 10_000;

/** Calls that failed when they were last made. */
export class SuspectCalls {
  readonly #calls = new Map<string, StateCall>();

  /** Keyed by a name. The one that has waited longest comes first. */
  all(): ReadonlyMap<string, StateCall> {
    return this.#calls;
  }

  has(call: StateCall | undefined): boolean {
    return this.#calls.has(nameOf(call));
  }

  /** Adds calls that have failed alone. */
  add(calls: readonly StateCall[]): void {
    for (const call of calls) {
      this.#calls.delete(nameOf(call));
      this.#calls.set(nameOf(call), call);
      const [oldest] = this.#calls.keys();
      if (this.#calls.size > SUSPECTS_MAX && oldest !== undefined) this.#calls.delete(oldest);
    }
  }

  /**
   * Gives functions that answer again another chance for all accounts, because they may have failed for all of them.
   */
  clear(calls: readonly StateCall[]): void {
    const functions = new Set(calls.map(functionOf));
    for (const [name, call] of this.#calls) if (functions.has(functionOf(call))) this.#calls.delete(name);
  }

  /** Returns the indexes of the suspects that have waited longest: one of each account, then a second of each. */
  choose(calls: readonly StateCall[], suspected: readonly number[], countMax: number): readonly number[] {
    if (suspected.length <= countMax) return suspected;
    const places = new Map([...this.#calls.keys()].map((name, place) => [name, place]));
    const placeOf = (index: number) => places.get(nameOf(calls[index])) ?? 0;
    const byAccount = Map.groupBy(
      suspected.toSorted((a, b) => placeOf(a) - placeOf(b)),
      (index) => calls[index] && accountIn(calls[index]),
    );
    const inRounds = [...byAccount.values()].flatMap((own) => own.map((index, round) => ({ index, round })));
    return inRounds
      .sort((a, b) => a.round - b.round)
      .slice(0, countMax)
      .map(({ index }) => index);
  }
}

function functionOf({ to, data }: StateCall): string {
  return `${to}:${data.slice(0, 10)}`;
}

function nameOf(call: StateCall | undefined): string {
  return call === undefined ? '' : `${call.to}:${call.data}`;
}
