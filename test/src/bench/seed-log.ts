import { createHash } from 'node:crypto';
import {
  type BlockRef,
  encodeMakerEvent,
  type MakerEvent,
  type MessageContext,
  topicNames,
  topicSpecs,
} from '@makerbook/contracts-events';
import type { Address, Hex } from '@makerbook/contracts-primitives';
import { type Appender, type Log, type LogRecord, partitionOf } from '@makerbook/kafka';
import type { Postgres } from '@makerbook/postgres';
import { deleteRows } from '../kit/save-rows.js';

export interface SeededLog {
  readonly prefix: string;
  readonly partitions: number;
  /** Open orders, each of a maker of its own, all with this making token. */
  readonly orders: number;
  readonly token: Address;
  /** Blocks in every partition, more than `TAIL_BLOCKS`; the last of them is the chain's head. */
  readonly blocks: number;
  readonly head: BlockRef;
  /** Where the orders are: in the log before the blocks, in the rows with a position some blocks before the end. */
  readonly holds: { readonly log: boolean; readonly rows: boolean };
}

/** Newest blocks that the rows' positions do not cover: the projector commits them a moment later. */
export const TAIL_BLOCKS = 30;
const CONTEXT: MessageContext = { id: 'seeded', source: '/makerbook/bench', timeMs: 0 };
const RECORDS_PER_APPEND = 500;
const AMOUNT: Hex = '0x56bc75e2d63100000';

/** Makes topics and rows of a service that has run for long, as its ingress, watcher and projector would have left them. */
export async function seedLog(log: Log, postgres: Postgres, seeded: SeededLog): Promise<void> {
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
    for (let back = blocks - 1; back >= 0; back -= 1)
      yield fact({ type: 'BlockProcessed', block: blockBefore(seeded, back) });
    // So the next watcher begins at once.
    if (partition === 0) yield fact({ type: 'WatcherResigned' });
  });
  await deleteRows(postgres);
  if (!holds.rows) return;
  await seedRows(postgres, seeded, await log.endOffsets(topics.makerEvents));
}

/** What a watcher reads at its start: orders and positions. Of an order's partition it does not ask. */
async function seedRows(postgres: Postgres, seeded: SeededLog, ends: readonly bigint[]): Promise<void> {
  const { orders, token } = seeded;
  await postgres.query(
    `insert into orders (order_hash, maker, partition, accepted_offset, accepted_at_ms, expires_at_seconds, making_token,
       making_amount, remaining, status, in_book, record_start, is_observed)
     select sha256(convert_to('order ' || n, 'UTF8')), substring(sha256(convert_to('maker ' || n, 'UTF8')) for 20), 0, n, 0,
       $2::bigint, $3::bytea, $4::numeric, $4::numeric, 'ACTIVE', true, '', true
     from generate_series(0, $1::bigint - 1) as n`,
    [orders, EXPIRES_AT_SECONDS, `\\x${token.slice(2)}`, String(BigInt(AMOUNT))],
  );
  const { number, timestamp } = blockBefore(seeded, TAIL_BLOCKS);
  for (const [partition, end] of ends.entries()) {
    await postgres.query(
      'insert into projections (partition, next_offset, block_number, block_timestamp) values ($1, $2, $3, $4)',
      [partition, String(end - BigInt(TAIL_BLOCKS)), number, timestamp],
    );
  }
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
      if (batch.length === RECORDS_PER_APPEND) await flush();
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
  if (back === 0) return head;
  return { number: head.number - back, hash: word(`block ${back}`), timestamp: head.timestamp - back };
}

/** Year 2100. */
const EXPIRES_AT_SECONDS = 4_102_444_800;
const makerOf = (n: number): Address => `0x${word(`maker ${n}`).slice(2, 42)}`;
const word = (name: string): Hex => `0x${createHash('sha256').update(name).digest('hex')}`;
const quantity = (value: number): Hex => `0x${value.toString(16)}`;
