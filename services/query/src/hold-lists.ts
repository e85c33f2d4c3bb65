import { LRUCache } from 'lru-cache';
import type { JoinedList } from './join-records.js';

/** The lists that this process holds, one of a maker. */
export type HeldLists = ReturnType<typeof holdLists>;

/** The cost of a list besides its bytes. */
const LIST_OVERHEAD_BYTES = 500;
const RECORD_OVERHEAD_BYTES = 250;

/** Holds lists in memory up to `bytesMax`. A single list larger than that is not held. */
export function holdLists(bytesMax = 128 * 1024 * 1024) {
  const lists = new LRUCache<string, JoinedList>({ maxSize: bytesMax, sizeCalculation: bytesOf });
  return {
    find: (maker: string): JoinedList | undefined => lists.get(maker),
    /** Keeps the list unless a newer one of the maker is held. Drops the least recently used ones where there is no room. */
    keep(maker: string, list: JoinedList): void {
      const held = lists.peek(maker);
      if (held === undefined || held.version <= list.version) lists.set(maker, list);
    },
  };
}

function bytesOf({ body, records }: JoinedList): number {
  // A server may keep packed forms of the body, which are half as large together.
  return Math.ceil(1.5 * body.length) + RECORD_OVERHEAD_BYTES * records.length + LIST_OVERHEAD_BYTES;
}
