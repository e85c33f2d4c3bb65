import { partitionOf } from '@makerbook/kafka';
import type { Observed } from '../publish/publish-observed.js';
import { within } from '../wait.js';
import type { HolderWork } from './holder-work.js';

/**
 * Leaves out readings that say what the log holds as its newest. What was appended last is read back first, or a value that
 * has changed twice would pass for an old one; where that takes too long nothing is left out. To be called with the mutex.
 */
export async function onlyNews(
  observed: readonly Observed[],
  { watched, followed, publisher, partitions, wait }: HolderWork,
): Promise<readonly Observed[]> {
  const concerned = new Set(observed.map(({ fact }) => partitionOf(fact.maker, partitions)));
  const isReadBack = (one: number) => publisher.isBefore(one, followed.partitions[one]?.position ?? 0n);
  const areReadBack = () => [...concerned].every(isReadBack);
  if (!areReadBack()) await within(wait(READ_BACK_MS), (over) => followed.until(areReadBack, over));
  return observed.filter(({ fact }) => !isReadBack(partitionOf(fact.maker, partitions)) || watched.isNews(fact));
}

const READ_BACK_MS = 1_000;
