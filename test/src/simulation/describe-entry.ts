import type { TimelineEntry } from '@makerbook/contracts-http';
import type { Hex } from '@makerbook/contracts-primitives';

/** The offset in the cursor of a last page or a snapshot. All facts before the offset lie before the cursor. */
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
