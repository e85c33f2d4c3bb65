import type { JoinedList } from './list-value.js';

/** The lists that this process holds, one of a maker. */
export interface HeldLists {
  find(maker: string): JoinedList | undefined;
  /** Keeps the list instead of the one that is held of the maker, and drops those that were not used for longest where there is no room. */
  keep(maker: string, list: JoinedList): void;
}

/** What each list costs beside its bytes. */
const LIST_OVERHEAD_BYTES = 500;
const RECORD_OVERHEAD_BYTES = 150;

/** Holds lists in memory up to `bytesMax`. A single list larger than that is not held. */
export function holdLists(bytesMax = 64 * 1024 * 1024): HeldLists {
  /** The least recently used first. */
  const lists = new Map<string, { list: JoinedList; bytes: number }>();
  let bytesHeld = 0;

  function drop(maker: string): void {
    bytesHeld -= lists.get(maker)?.bytes ?? 0;
    lists.delete(maker);
  }

  return {
    find(maker) {
      const found = lists.get(maker);
      if (found === undefined) return undefined;
      lists.delete(maker);
      lists.set(maker, found);
      return found.list;
    },

    keep(maker, list) {
      drop(maker);
      const { body, records } = list;
      // A server may keep packed forms of the body, which are half as large together.
      const bytes = 1.5 * body.length + RECORD_OVERHEAD_BYTES * records.length + LIST_OVERHEAD_BYTES;
      if (bytes > bytesMax) return;
      lists.set(maker, { list, bytes });
      bytesHeld += bytes;
      for (const oldest of lists.keys()) {
        if (bytesHeld <= bytesMax) break;
        drop(oldest);
      }
    },
  };
}
