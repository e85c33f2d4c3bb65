import { expect, test } from '@jest/globals';
import { testParts } from './index.js';
import { askKafka, int16, int32 } from './testing/delete-records.js';

test('Kafka creates no topic when a client only asks about it', async () => {
  const { kafkaBrokers } = testParts();
  const name = Buffer.from(`never-ordered-${process.pid}`);
  // Write the requests of Kafka's protocol by hand: the client library belongs to another package.
  const readTopics = (...topics: Buffer[]) => askKafka(kafkaBrokers, 3, 4, [...topics, Buffer.from([1])]);
  await readTopics(int32(1), int16(name.length), name);
  expect((await readTopics(int32(-1))).includes(name)).toBe(false);
});
