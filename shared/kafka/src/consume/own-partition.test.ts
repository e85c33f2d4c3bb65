import { expect, test } from '@jest/globals';
import { RetryableError } from '../failures.js';
import type { ConsumeOptions, StoredRecord } from '../log.js';
import { quiet, until } from '../testing/open-test-log.js';
import { OwnedPartition, type OwnedPartitionParts } from './own-partition.js';
import type { Parking } from './park-records.js';

/** A partition whose store fails at first, and whose membership is as `membership` says. */
function ownPartition(membership: { isConfirmed: boolean }) {
  const asked: bigint[] = [];
  const options: Pick<ConsumeOptions<StoredRecord>, 'topic' | 'positionOf'> = {
    topic: 'orders',
    positionOf: async () => {
      asked.push(7n);
      if (asked.length === 1) throw new RetryableError('another process has taken the partition');
      return 7n;
    },
  };
  const parts: OwnedPartitionParts = {
    logger: quiet,
    parking: {} as Parking,
    isConfirmed: () => membership.isConfirmed,
  };
  return { asked, owned: new OwnedPartition(0, options as ConsumeOptions<StoredRecord>, parts) };
}

test('what failed is tried again at once while the coordinator answers', async () => {
  const { asked, owned } = ownPartition({ isConfirmed: true });
  await owned.seek();
  expect({ asked, position: owned.position }).toEqual({ asked: [7n, 7n], position: 7n });
});

test('what failed is not tried again before the coordinator answers: it may be the work of another member', async () => {
  const membership = { isConfirmed: false };
  const { asked, owned } = ownPartition(membership);
  const sought = owned.seek();
  await until('it has failed', () => owned.retrying === 'another process has taken the partition');
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(asked).toHaveLength(1);
  membership.isConfirmed = true;
  await sought;
  expect({ asked, position: owned.position }).toEqual({ asked: [7n, 7n], position: 7n });
});

test('a revocation ends the wait', async () => {
  const { asked, owned } = ownPartition({ isConfirmed: false });
  const sought = owned.seek();
  await until('it has failed', () => owned.retrying === 'another process has taken the partition');
  owned.revoke(false);
  await sought;
  expect({ asked, position: owned.position }).toEqual({ asked: [7n], position: undefined });
});
