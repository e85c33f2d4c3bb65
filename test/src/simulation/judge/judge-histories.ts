import type { OrderHistory } from '@makerbook/contracts-http';
import type { Address } from '@makerbook/contracts-primitives';
import { partitionOf } from '@makerbook/kafka';
import type { Visits } from '../visit-service.js';
import type { Replay } from './replay-log.js';

const places = ['OPENED', 'FILLED', 'CHANGED', 'WITHHELD', 'REMOVED'];

/** Finds makers whose pages, one behind the other, are not what the replay says happened to their orders. */
export function judgeHistories({ histories }: Visits, replays: readonly Replay[]): string[] {
  return [...histories].flatMap(([maker, { entries, cursor = '' }]) => {
    const replay = replays[partitionOf(maker, replays.length)];
    const is = entries.map(lineOf);
    const expected = replay === undefined ? [] : linesOf(replay, maker, BigInt(cursor));
    const at = Array.from({ length: Math.max(is.length, expected.length) }).findIndex((_, n) => is[n] !== expected[n]);
    return at < 0 ? [] : [`entry ${at} of the history of ${maker} is ${is[at]}, and must be ${expected[at]}`];
  });
}

/** Of facts before the offset. */
function linesOf(replay: Replay, maker: Address, before: bigint): string[] {
  const changes = replay.history.flatMap((line) => {
    const [offset = '', happened = '', orderHash = '', remaining = '', whose] = line.split(' ');
    const key = [BigInt(offset), orderHash, places.indexOf(happened), -1, -1] as const;
    return whose === maker ? [{ key, line: [offset, orderHash, happened, remaining].join(' ') }] : [];
  });
  const fills = [...replay.fills.values()].flatMap((line) => {
    const [block = '', index = '', orderHash = '', whose, offset = ''] = line.split(' ');
    const key = [BigInt(offset), orderHash, places.indexOf('FILLED'), Number(block), Number(index)] as const;
    return whose === maker ? [{ key, line: [offset, orderHash, 'FILLED', block, index].join(' ') }] : [];
  });
  const isBefore = (one: readonly (bigint | string | number)[], other: readonly (bigint | string | number)[]) => {
    const at = one.findIndex((value, n) => value !== other[n]);
    return at >= 0 && (one[at] ?? 0) < (other[at] ?? 0);
  };
  const told = [...changes, ...fills].filter(({ key: [offset] }) => offset < before);
  return told.sort((a, b) => (isBefore(a.key, b.key) ? -1 : 1)).map(({ line }) => line);
}

function lineOf(entry: OrderHistory['entries'][number]): string {
  const [, offset = ''] = entry.position.split(':');
  const { orderHash, happened } = entry;
  return happened === 'FILLED'
    ? [offset, orderHash, happened, entry.blockNumber, entry.logIndex].join(' ')
    : [offset, orderHash, happened, BigInt(entry.remainingMakingAmount)].join(' ');
}
