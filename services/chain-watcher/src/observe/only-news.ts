import { partitionOf } from '@makerbook/kafka';
import type { Observed } from '../publish/publish-observed.js';
import type { TermWork } from './term-work.js';

/**
 * Leaves out readings that say what the log holds as its newest. What was appended last is waited for: a value that has
 * changed twice would pass for one that has not changed. Of a partition that is not read to there in time nothing is left out.
 * The caller holds the mutex, so that nothing is appended meanwhile.
 */
export async function onlyNews(
  observed: readonly Observed[],
  { watched, followed, publisher, partitions, wait }: TermWork,
): Promise<readonly Observed[]> {
  const concerned = new Set(observed.map(({ fact }) => partitionOf(fact.maker, partitions)));
  const isReadBack = (partition: number) =>
    publisher.isBefore(partition, followed.partitions[partition]?.position ?? 0n);
  const waiting = new AbortController();
  await Promise.race([followed.until(() => [...concerned].every(isReadBack), waiting.signal), wait(READ_BACK_MS)]);
  waiting.abort();
  return observed.filter(({ fact }) => !isReadBack(partitionOf(fact.maker, partitions)) || watched.isNews(fact));
}

const READ_BACK_MS = 1_000;
