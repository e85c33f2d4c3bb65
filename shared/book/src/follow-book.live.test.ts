import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { topicNames, topicSpecs } from '@makerbook/contracts-events';
import { connectLog } from '@makerbook/kafka';
import { testParts } from '@makerbook/parts';
import { silentLogger } from '@makerbook/telemetry';
import type { BookChange } from './book.js';
import { followBook } from './follow-book.js';
import { clockRecord, entryRecord, hashOf, type KafkaRecord, tombstone } from './testing/feed-records.js';

const names = topicNames(`book-${randomBytes(4).toString('hex')}.`);
const [first, second, third] = [hashOf('01'), hashOf('02'), hashOf('03')];
const log = connectLog({ brokers: testParts().kafkaBrokers.split(','), clientId: 'book', logger: silentLogger });
beforeAll(() => log.createTopics(topicSpecs(names, 4).map((spec) => ({ ...spec, replicationFactor: 1 }))));
afterAll(() => log.close());

/** As the projector: the records of one transaction. */
async function publish(...records: readonly KafkaRecord[]): Promise<void> {
  const publisher = log.createFencedPublisher({ transactionalId: `${names.book}-3`, timeoutMs: 60_000 });
  await publisher.publish(records.map((record) => ({ ...record, topic: names.book })));
  await publisher.close();
}

test('a reader has the book of now, follows it, knows how old it is, and ends at a record that comes twice', async () => {
  const clock = clockRecord(9, { offset: 3 }, 900);
  await publish(entryRecord(first, { offset: 1 }), entryRecord(second, { offset: 2 }), clock);
  const changes: BookChange[] = [];
  const failed = Promise.withResolvers<Error>();
  const followed = Promise.withResolvers<void>();
  const book = followBook(log, {
    topic: names.book,
    onFatal: failed.resolve,
    onChange: (change) => {
      changes.push(change);
      if (changes.length === 5) followed.resolve();
    },
  });
  await book.caughtUp;
  expect([...book.entries.keys()]).toEqual([first, second]);
  expect(book.clocks.get(3)?.block.number).toBe(9);
  // The other three partitions have said nothing yet.
  expect(book.staleSince()).toBeUndefined();

  await publish(tombstone(first, 'FILLED', { offset: 4 }), entryRecord(third, { offset: 5 }));
  await followed.promise;
  expect([...book.entries.keys()]).toEqual([second, third]);
  expect(changes.map(({ kind }) => kind)).toEqual(['entry', 'entry', 'clock', 'removed', 'entry']);

  await publish(entryRecord(third, { offset: 5 }));
  expect((await failed.promise).message).toContain('message 3:5:0 came after 3:5:0');
  await book.stop();
});
