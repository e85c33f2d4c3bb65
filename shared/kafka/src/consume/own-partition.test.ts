import { expect, test } from '@jest/globals';
import { until } from '@makerbook/parts';
import { RetryableError } from '../failures.js';
import type { ConsumeOptions, StoredRecord } from '../log.js';
import { quiet } from '../testing/open-test-log.js';
import { OwnedPartition } from './own-partition.js';

/** A partition whose store fails at first. */
function ownPartition(confirmed?: () => Promise<void>) {
  const asked: bigint[] = [];
  const options: Partial<ConsumeOptions<StoredRecord>> = {
    topic: 'orders',
    positionOf: async () => {
      asked.push(7n);
      if (asked.length === 1) throw new RetryableError('another process has taken the partition');
      return 7n;
    },
    ...(confirmed && { confirmed }),
  };
  const parts = { logger: quiet, park: async () => undefined };
  return { asked, owned: new OwnedPartition(0, options as ConsumeOptions<StoredRecord>, parts) };
}

test('a failure is not retried before the partition is confirmed: another process may have taken it', async () => {
  const { promise: confirmed, resolve: confirm } = Promise.withResolvers<void>();
  const { asked, owned } = ownPartition(() => confirmed);
  const sought = owned.seek();
  await until('it has failed', () => owned.retrying === 'another process has taken the partition');
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(asked).toHaveLength(1);
  confirm();
  await sought;
  expect({ asked, position: owned.position }).toEqual({ asked: [7n, 7n], position: 7n });
});

test('a revocation ends the wait for the confirmation', async () => {
  const { asked, owned } = ownPartition(() => new Promise(() => undefined));
  const sought = owned.seek();
  await until('it has failed', () => owned.retrying === 'another process has taken the partition');
  await new Promise((resolve) => setTimeout(resolve, 300));
  owned.revoke(false);
  await sought;
  expect({ asked, position: owned.position }).toEqual({ asked: [7n], position: undefined });
});
