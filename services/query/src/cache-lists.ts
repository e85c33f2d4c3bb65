import { LRUCache } from 'lru-cache';
import type { JoinedList } from './join-records.js';

/** The lists that this process has in memory, one of a maker. */
export type ListCache = ReturnType<typeof cacheLists>;

/** The cost of a list besides its bytes. */
const LIST_OVERHEAD_BYTES = 500;
const RECORD_OVERHEAD_BYTES = 250;

/** Keeps lists in memory up to `bytesMax`. A single list larger than that is not kept. */
export function cacheLists(bytesMax = 128 * 1024 * 1024) {
  const lists = new LRUCache<string, JoinedList>({ maxSize: bytesMax, sizeCalculation: bytesOf });
  return {
    find: (maker: string): JoinedList | undefined => lists.get(maker),
    /** Keeps the list unless a newer one of the maker is there. Drops the least recently used ones where there is no room. */
    keep(maker: string, list: JoinedList): void {
      const known = lists.peek(maker);
      if (known === undefined || known.version <= list.version) lists.set(maker, list);
    },
  };
}

function bytesOf({ body, records }: JoinedList): number {
  // A server may keep packed forms of the body, which are half as large together.
  return Math.ceil(1.5 * body.length) + RECORD_OVERHEAD_BYTES * records.length + LIST_OVERHEAD_BYTES;
}
