import { PostgresUnavailable } from './failures.js';

export interface GatherOptions<Item, Result> {
  /** How many statements run at once. */
  readonly atOnceMax: number;
  /** Items in one statement at most. */
  readonly itemsMax?: number;
  /** The cost of an item. The item that has waited longest goes first, then small ones before large ones. */
  readonly sizeOf?: (item: Item) => number;
  /** The most that the items of one statement cost together. The first one may cost more. */
  readonly sizeMax?: number;
  /** True if an item may share a statement with the first one. */
  readonly mayJoin?: (item: Item, first: Item) => boolean;
  /** Awaited before each statement, which then takes the items that came meanwhile too. */
  readonly begin?: () => Promise<void>;
  /** The order of items in a statement. Two statements that lock rows in the same order never deadlock. */
  readonly compare?: (a: Item, b: Item) => number;
  /** Runs one statement. @returns a result for each item, in their order */
  readonly decide: (items: readonly Item[]) => Promise<readonly Result[]>;
  /** True if a single item may have caused the error. Each item is then decided once more, alone. Default: never. */
  readonly isOfOne?: (error: unknown) => boolean;
}

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Lets items that arrive while statements run share the next one: a transaction costs several times as much as one more
 * item. If Postgres is down, the items that wait for the next statement fail at once.
 */
export function gatherCalls<Item, Result>(options: GatherOptions<Item, Result>): (item: Item) => Promise<Result> {
  const { atOnceMax, itemsMax, sizeOf = () => 0, sizeMax = 0, mayJoin = () => true } = options;
  const { begin, compare, decide, isOfOne = () => false } = options;
  let waiting: Waiting<Item, Result>[] = [];
  let running = 0;

  async function decideAll(batch: readonly Waiting<Item, Result>[], mayRepeat = true): Promise<void> {
    try {
      const results = await decide(batch.map(({ item }) => item));
      for (const [index, { resolve }] of batch.entries()) resolve(results[index] as Result);
    } catch (error) {
      if (mayRepeat && isOfOne(error)) return void (await Promise.all(batch.map((one) => decideAll([one], false))));
      const isAway = error instanceof PostgresUnavailable && !isOfOne(error);
      for (const { reject } of [...batch, ...(isAway ? waiting.splice(0) : [])]) reject(error);
    }
  }

  function takeNext(): Waiting<Item, Result>[] {
    const [oldest, ...others] = waiting;
    if (oldest === undefined) return [];
    others.sort((a, b) => sizeOf(a.item) - sizeOf(b.item));
    let size = sizeOf(oldest.item);
    const isBeyond = ({ item }: Waiting<Item, Result>) => {
      size += sizeOf(item);
      return size > sizeMax || !mayJoin(item, oldest.item);
    };
    const end = others.findIndex(isBeyond);
    const batch = [oldest, ...others.slice(0, end < 0 ? undefined : end)].slice(0, itemsMax);
    const taken = new Set(batch);
    waiting = waiting.filter((one) => !taken.has(one));
    return compare === undefined ? batch : batch.sort((a, b) => compare(a.item, b.item));
  }

  async function decideWaiting(): Promise<void> {
    running += 1;
    while (waiting.length > 0) {
      if (begin !== undefined) await begin();
      const batch = takeNext();
      if (batch.length > 0) await decideAll(batch);
    }
    running -= 1;
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      if (running < atOnceMax) void decideWaiting();
    });
}
