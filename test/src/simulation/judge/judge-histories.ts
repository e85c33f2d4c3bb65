import { type Happening, happenings } from '@makerbook/contracts-http';
import type { Address, Hex } from '@makerbook/contracts-primitives';
import { partitionOf } from '@makerbook/kafka';
import { lineOf, offsetOf } from '../describe-entry.js';
import type { Visits } from '../visit-service.js';
import type { Replay } from './replay-log.js';

/** Finds makers whose pages, joined together, differ from what the replay says happened to their orders. */
export function judgeHistories({ histories }: Visits, replays: readonly Replay[]): string[] {
  return [...histories].flatMap(([maker, { entries, cursor = '0:-:0' }]) => {
    const replay = replays[partitionOf(maker, replays.length)];
    const is = entries.map((entry) => lineOf(entry, entry.orderHash as Hex));
    const expected = replay === undefined ? [] : historyOf(replay, maker);
    const must = expected.filter(({ offset }) => offset < offsetOf(cursor)).map(({ line }) => line);
    const at = Array.from({ length: Math.max(is.length, must.length) }).findIndex((_, n) => is[n] !== must[n]);
    return at < 0 ? [] : [`entry ${at} of the history of ${maker} is ${is[at]}, and must be ${must[at]}`];
  });
}

/** Finds makers whose streams left out an event, repeated one, or did not reach the end. */
export function judgeStreams({ streams }: Visits, replays: readonly Replay[]): string[] {
  return [...streams].flatMap(([maker, { lines, begunAt, wrong, clocks }]) => {
    const replay = replays[partitionOf(maker, replays.length)];
    if (begunAt === undefined || replay === undefined) return wrong;
    const must = historyOf(replay, maker).filter(({ offset }) => offset >= begunAt);
    const at = Array.from({ length: Math.max(lines.length, must.length) }).findIndex(
      (_, n) => lines[n] !== must[n]?.line,
    );
    const early = clocks.find((clock) => must.filter(({ offset }) => offset < clock.offset).length > clock.lines);
    if (early !== undefined) {
      return [...wrong, `a clock of the stream of ${maker} is at ${early.offset}, and ${early.lines} events were told`];
    }
    return at < 0
      ? wrong
      : [...wrong, `event ${at} of the stream of ${maker} is ${lines[at]}, and must be ${must[at]?.line}`];
  });
}

/** All that happened to a maker's orders, in the order of its history. */
export function historyOf(replay: Replay, maker: Address) {
  const changes = replay.history.flatMap((line) => {
    const [offset = '', happened = '', hash = '', remaining = '', whose, capped = ''] = line.split(' ');
    const key = [BigInt(offset), hash, happenings.indexOf(happened as Happening), -1, -1] as const;
    // The entry for an order's end names no cap.
    const withheld = happened === 'REMOVED' ? '0' : capped;
    return whose === maker ? [{ key, line: [offset, hash, happened, remaining, withheld].join(' ') }] : [];
  });
  const fills = [...replay.fills.values()].flatMap((line) => {
    const [block = '', index = '', hash = '', whose, offset = '', ...amounts] = line.split(' ');
    const key = [BigInt(offset), hash, happenings.indexOf('FILLED'), Number(block), Number(index)] as const;
    return whose === maker ? [{ key, line: [offset, hash, 'FILLED', block, index, ...amounts].join(' ') }] : [];
  });
  const isBefore = (one: readonly (bigint | string | number)[], other: readonly (bigint | string | number)[]) => {
    const at = one.findIndex((value, n) => value !== other[n]);
    return at >= 0 && (one[at] ?? 0) < (other[at] ?? 0);
  };
  return [...changes, ...fills]
    .sort((a, b) => (isBefore(a.key, b.key) ? -1 : 1))
    .map(({ key: [offset, hash], line }) => ({ offset, hash, line }));
}
