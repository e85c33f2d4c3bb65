/**
 * A router's reader in TypeScript, with kafkajs and `@makerbook/book`: holds the open orders, and prints which can be
 * filled, how, and when not to use the feed. `npm run example:router`, until Ctrl-C.
 */
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { ackOf, Book, type BookChange, type BookClock, type BookEntry, feedRecordOf } from '@makerbook/book';
import { Kafka, logLevel } from 'kafkajs';

const STALE_SECONDS_MAX = 5;
const ZERO_ADDRESS = `0x${'0'.repeat(40)}`;
const kafkaBrokers = process.env['KAFKA_BROKERS'] ?? brokersOfStack();
const topicOf = (name: string) => `${process.env['TOPIC_PREFIX'] ?? ''}limit-orders.${name}.v1`;
const topic = topicOf('book');
const kafka = new Kafka({ clientId: 'example-router', brokers: kafkaBrokers.split(','), logLevel: logLevel.NOTHING });

// The snapshot is complete once the reader has reached the current end of each partition.
const admin = kafka.admin();
await admin.connect();
const partitions = await admin.fetchTopicOffsets(topic);
await admin.disconnect();
const missing = new Map(partitions.map(({ partition, high }) => [partition, BigInt(high)]));
for (const { partition, low, high } of partitions) if (low === high) missing.delete(partition);
let isComplete = false;
// Makers can wait (`Prefer: wait=N; by=router`) until a router that the operator has registered has seen a
// cancellation.
const name = process.env['ROUTER_NAME'];
const producer = name === undefined ? undefined : kafka.producer();
await producer?.connect();

const book = new Book();
// kafkajs reads only in groups. Use a new group at each start: it begins with the first record, and keeps no offsets.
const consumer = kafka.consumer({ groupId: `router-example-${randomUUID()}`, readUncommitted: false });
let isJoined = false;
consumer.on(consumer.events.GROUP_JOIN, () => {
  // After a second join the consumer would read from the beginning again.
  if (isJoined) fail(new Error('the consumer was away for too long: start again'));
  isJoined = true;
});
consumer.on(consumer.events.CRASH, ({ payload }) => {
  // With `restart`, kafkajs joins again by itself.
  if (!payload.restart) fail(payload.error);
});
// Batches end after transaction markers too: no message handler is given those.
consumer.on(consumer.events.END_BATCH_PROCESS, ({ payload: { partition, lastOffset } }) => {
  if (BigInt(lastOffset) + 1n >= (missing.get(partition) ?? 0n)) missing.delete(partition);
  if (missing.size === 0 && !isComplete) reportSnapshot();
});
await consumer.connect();
await consumer.subscribe({ topics: [topic], fromBeginning: true });
await consumer.run({
  autoCommit: false,
  eachMessage: async ({ partition, message }) => {
    try {
      const change = book.apply(feedRecordOf(partition, message));
      if (isComplete) report(change);
      if (isComplete && change.kind === 'clock') acknowledge(change.clock);
    } catch (error) {
      // The feed broke its promise, or cannot be read: do not use the book.
      fail(error as Error);
    }
  },
});

let isStale: boolean | undefined;
setInterval(() => {
  if (!isComplete) return;
  // `staleSince` is the time of the block up to which every partition is complete. It moves with each block, even if
  // no order changes.
  const age = Date.now() / 1000 - (book.staleSince(partitions.length) ?? 0);
  if (isStale === age > STALE_SECONDS_MAX) return;
  isStale = age > STALE_SECONDS_MAX;
  console.log(isStale ? `STALE: the last block is ${age.toFixed(0)} s old, fill nothing` : 'FRESH');
}, 500);

function acknowledge(clock: BookClock): void {
  if (name === undefined) return;
  const messages = [ackOf(name, clock, Date.now())];
  // If this fails, the book is still good.
  producer?.send({ topic: topicOf('acks'), messages }).catch(({ message }) => console.error(message));
}

function brokersOfStack(): string {
  const file = `${process.env['MAKERBOOK_DATA'] ?? '.local'}/stack.json`;
  if (!existsSync(file)) throw new Error(`no stack runs here (${file} is missing): start it with \`npm start\``);
  return JSON.parse(readFileSync(file, 'utf8')).kafkaBrokers;
}

function fail({ message }: Error): never {
  console.error(message);
  process.exit(1);
}

function reportSnapshot(): void {
  isComplete = true;
  // From now on each clock must agree with the book.
  book.expectWhole();
  console.log(`snapshot: ${book.entries.size} open orders`);
  for (const entry of book.entries.values()) reportOrder(entry);
}

function report(change: BookChange): void {
  if (change.kind === 'entry') reportOrder(change.entry);
  if (change.kind === 'removed') console.log(`GONE ${change.orderHash} ${change.removal}`);
}

function reportOrder({ orderHash, order, status, remainingMakingAmount, routableUntil }: BookEntry): void {
  if (status !== 'ACTIVE' || Date.now() / 1000 >= routableUntil) return console.log(`${status} ${orderHash}`);
  const { making, taking, permittedTaker } = order;
  // Fill in full or in part. The contract rounds up what the taker pays. Orders of one maker may share its funds.
  const makingAmount = BigInt(remainingMakingAmount);
  const product = makingAmount * BigInt(taking.amount);
  const takingAmount = (product + BigInt(making.amount) - 1n) / BigInt(making.amount);
  const taker = permittedTaker === ZERO_ADDRESS ? 'anyone' : permittedTaker;
  console.log(`ACTIVE ${orderHash} fillOrder(order, signature, ${makingAmount}, ${takingAmount}) by ${taker}`);
}
