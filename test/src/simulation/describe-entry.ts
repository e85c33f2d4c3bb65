import type { TimelineEntry } from '@makerbook/contracts-http';
import type { Hex } from '@makerbook/contracts-primitives';

/** All before this offset lies before the cursor of a last page, or of a snapshot. */
export function offsetOf(cursor: string): bigint {
  return BigInt(cursor.split(':')[2] ?? 0);
}

/** An entry as `historyOf` writes it. */
export function lineOf(entry: TimelineEntry, hash: Hex): string {
  const [, offset = ''] = entry.position.split(':');
  if (entry.happened !== 'FILLED')
    return [offset, hash, entry.happened, BigInt(entry.remainingMakingAmount), entry.cappedUntil ?? 0].join(' ');
  const { blockNumber, logIndex, taker, makingAmount, takingAmount } = entry;
  const { makingToken, takingToken, remainingMakingAmount, blockTimestamp } = entry;
  const place = [offset, hash, entry.happened, blockNumber, logIndex, taker, makingAmount, takingAmount];
  return [...place, makingToken, takingToken, remainingMakingAmount, blockTimestamp].join(' ');
}
