import type { NewOrderReader } from './read-new-orders.js';

/** A reader of new orders that also knows since when the oldest unread one has waited. */
export interface TimedOrderReader extends NewOrderReader {
  /** When it was added, in the clock's milliseconds, up to a second less; undefined when none waits. */
  oldestAtMs(): number | undefined;
}

/** Orders are read in the sequence in which they were added, so a few counts tell which of them still wait. */
export function timeOrders(reader: NewOrderReader, nowMs: () => number): TimedOrderReader {
  let added = 0;
  /** How many orders had been added at which time, oldest first; what was added within a second stands together. */
  const arrivals: { upTo: number; readonly atMs: number }[] = [];
  const forgetRead = () => {
    const read = added - reader.waiting();
    while (arrivals[0] !== undefined && arrivals[0].upTo <= read) arrivals.shift();
  };
  return {
    ...reader,
    add: (opened) => {
      forgetRead();
      added += opened.length;
      const last = arrivals.at(-1);
      if (last !== undefined && nowMs() - last.atMs < 1000) last.upTo = added;
      else if (opened.length > 0) arrivals.push({ upTo: added, atMs: nowMs() });
      reader.add(opened);
    },
    oldestAtMs: () => {
      forgetRead();
      return arrivals[0]?.atMs;
    },
  };
}
