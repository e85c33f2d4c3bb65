import type { JoinedRecords } from './list-entry.js';

/** A list as Redis held it under an epoch and a version. It is valid until one of its records expires. */
export interface HeldList {
  readonly maker: string;
  readonly epoch: string;
  readonly version: string;
  readonly list: JoinedRecords;
  /** The clock at which the expired ones were left out. */
  readonly sinceSeconds: number;
  /** The second at which the next one expires. */
  readonly untilSeconds: number;
}

export interface HeldLists {
  /** The list held of a maker under this epoch, unless one of its records has expired (or the clock was set back). */
  find(maker: string, epoch: string, nowSeconds: number): HeldList | undefined;
  /** Keeps a list, and drops those that were not used for longest where there is no room. */
  keep(list: HeldList): void;
}

/** What each list costs beside its bytes. */
const LIST_OVERHEAD_BYTES = 500;
const RECORD_OVERHEAD_BYTES = 150;

/** Holds lists in memory up to `bytesMax`. A single list larger than that is not held. */
export function holdLists(bytesMax: number): HeldLists {
  /** The least recently used first. */
  const lists = new Map<string, { list: HeldList; bytes: number }>();
  let bytesHeld = 0;

  function drop(maker: string): void {
    bytesHeld -= lists.get(maker)?.bytes ?? 0;
    lists.delete(maker);
  }

  return {
    find(maker, epoch, nowSeconds) {
      const found = lists.get(maker);
      if (found === undefined) return undefined;
      const { list } = found;
      const isRight = list.epoch === epoch && list.sinceSeconds <= nowSeconds && nowSeconds < list.untilSeconds;
      lists.delete(maker);
      if (isRight) lists.set(maker, found);
      else bytesHeld -= found.bytes;
      return isRight ? list : undefined;
    },

    keep(list) {
      drop(list.maker);
      const { body, records } = list.list;
      // A server may keep packed forms of the body, which are half as large together.
      const bytes = 1.5 * body.length + RECORD_OVERHEAD_BYTES * records.length + LIST_OVERHEAD_BYTES;
      if (bytes > bytesMax) return;
      lists.set(list.maker, { list, bytes });
      bytesHeld += bytes;
      for (const maker of lists.keys()) {
        if (bytesHeld <= bytesMax) break;
        drop(maker);
      }
    },
  };
}
