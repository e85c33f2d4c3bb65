import { createHash } from 'node:crypto';
import {
  type BlockRef,
  encodeBookEntry,
  encodeMakerEvent,
  encodeResumeRecord,
  type Hex,
  type MakerEvent,
  type MessageContext,
  topicNames,
  topicSpecs,
} from '@makerbook/contracts-events';
import type { Address } from '@makerbook/contracts-evm';
import { type Appender, type Log, type LogRecord, partitionOf } from '@makerbook/kafka';

export interface SeededLog {
  readonly prefix: string;
  readonly partitions: number;
  /** Open orders, each of a maker of its own, all with this making token. */
  readonly orders: number;
  readonly token: Address;
  /** Blocks in every partition, more than `TAIL_BLOCKS`; the last of them is the chain's head. */
  readonly blocks: number;
  readonly head: BlockRef;
  /** Where the orders stand: in the log before the blocks, in the book with a position some blocks before the end. */
  readonly holds: { readonly log: boolean; readonly book: boolean };
}

/** Newest blocks that the book's positions do not cover: a projector says each half minute how far its book is. */
export const TAIL_BLOCKS = 30;
const CONTEXT: MessageContext = { id: 'seeded', source: '/makerbook/bench', timeMs: 0 };
const RECORDS_PER_APPEND = 500;
const AMOUNT: Hex = '0x56bc75e2d63100000';

/** Makes the topics of a service that has run for long, as its ingress, watcher and projector would have left them. */
export async function seedLog(log: Log, seeded: SeededLog): Promise<void> {
  const { prefix, partitions, orders, blocks, holds } = seeded;
  const topics = topicNames(prefix);
  await log.createTopics(topicSpecs(topics, partitions).map((spec) => ({ ...spec, replicationFactor: 1 })));
  const appender = log.createAppender({ timeoutMs: 60_000 });
  const numbers = numbersByPartition(orders, partitions);
  await appendAll(appender, partitions, function* (partition) {
    const fact = (event: MakerEvent): LogRecord => {
      const { key, ...message } = encodeMakerEvent(event, CONTEXT);
      return { topic: topics.makerEvents, partition, key: key ?? '', ...message };
    };
    if (holds.log) for (const n of numbers[partition] ?? []) yield fact(submitted(seeded, n));
    for (let back = blocks - 1; back > 0; back -= 1)
      yield fact({ type: 'BlockProcessed', block: blockBefore(seeded, back) });
    yield fact({ type: 'BlockProcessed', block: seeded.head });
  });
  if (!holds.book) return;
  const ends = await log.endOffsets(topics.makerEvents);
  await appendAll(appender, partitions, function* (partition) {
    for (const n of numbers[partition] ?? []) {
      const { key, ...message } = encodeBookEntry(bookEntry(seeded, n, partition), CONTEXT);
      yield { topic: topics.book, partition, key: key ?? '', ...message };
    }
    const position = { partition, offset: String((ends[partition] ?? 0n) - BigInt(TAIL_BLOCKS)) };
    const { key, ...message } = encodeResumeRecord({ type: 'BookPosition', position }, CONTEXT);
    yield { topic: topics.resume, partition, key: key ?? '', ...message };
  });
}

async function appendAll(
  appender: Appender,
  partitions: number,
  recordsOf: (partition: number) => Iterable<LogRecord>,
): Promise<void> {
  const append = async (partition: number) => {
    let batch: LogRecord[] = [];
    const flush = async () => {
      if (batch.length > 0) await appender.append(batch);
      batch = [];
    };
    for (const record of recordsOf(partition)) {
      // Records of one append go to one topic.
      if (batch.length === RECORDS_PER_APPEND || (batch[0] !== undefined && batch[0].topic !== record.topic))
        await flush();
      batch.push(record);
    }
    await flush();
  };
  await Promise.all(Array.from({ length: partitions }, (_, partition) => append(partition)));
}

function numbersByPartition(orders: number, partitions: number): number[][] {
  const numbers: number[][] = Array.from({ length: partitions }, () => []);
  for (let n = 0; n < orders; n += 1) numbers[partitionOf(makerOf(n), partitions)]?.push(n);
  return numbers;
}

function submitted(seeded: SeededLog, n: number): MakerEvent {
  return {
    type: 'OrderSubmitted',
    maker: makerOf(n),
    ...signedOrder(seeded, n),
    cause: { kind: 'request', requestId: 'bench' },
  };
}

function bookEntry(seeded: SeededLog, n: number, partition: number) {
  const { head } = seeded;
  return {
    type: 'BookEntry' as const,
    ...signedOrder(seeded, n),
    remainingMakingAmount: AMOUNT,
    routableUntil: EXPIRES_AT_SECONDS - 60,
    position: { partition, offset: '0' },
    status: 'ACTIVE' as const,
    funding: { balance: AMOUNT, balanceBlock: head.number, allowance: AMOUNT, allowanceBlock: head.number },
  };
}

function signedOrder({ token }: SeededLog, n: number) {
  const maker = makerOf(n);
  const order = {
    salt: quantity(n + 1),
    nonce: quantity(0),
    expiresAt: quantity(EXPIRES_AT_SECONDS),
    making: { token, amount: AMOUNT },
    taking: { token: '0x00000000000000000000000000000000000000c1' as const, amount: AMOUNT },
    maker,
    permittedTaker: '0x0000000000000000000000000000000000000000' as const,
  };
  const signature: Hex = `0x${'5'.repeat(130)}`;
  return { orderHash: word(`order ${n}`), order, signature, acceptedAtMs: 1_700_000_000_000 };
}

/** Its hash is nobody's: of older blocks the chain is not asked. */
function blockBefore({ head }: SeededLog, back: number): BlockRef {
  return { number: head.number - back, hash: word(`block ${back}`), timestamp: head.timestamp - back };
}

/** Year 2100. */
const EXPIRES_AT_SECONDS = 4_102_444_800;
const makerOf = (n: number): Address => `0x${word(`maker ${n}`).slice(2, 42)}`;
const word = (name: string): Hex => `0x${createHash('sha256').update(name).digest('hex')}`;
const quantity = (value: number): Hex => `0x${value.toString(16)}`;
