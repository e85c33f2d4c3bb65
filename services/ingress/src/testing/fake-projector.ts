import { decodeMakerEvent, encodeMakerEvent, type OrderSubmitted } from '@makerbook/contracts-events';
import type { Hex } from '@makerbook/contracts-primitives';
import { orderFromBody, recordStart } from '@makerbook/domain';
import type { Appender, Log, StoredRecord } from '@makerbook/kafka';
import { byteaOf, type Postgres, type Query } from '@makerbook/postgres';

const BLOCK_MS = 200;

export interface FakeProjectorParts {
  readonly log: Log;
  readonly appender: Appender;
  readonly postgres: Postgres;
  /** `limit-orders.maker-events.v1` */
  readonly topic: string;
  readonly partitions: number;
}

export interface FakeProjector {
  /** All facts of the log so far except blocks, with their partition. */
  readonly facts: { partition: number; record: StoredRecord }[];
  pause(): void;
  resume(): void;
  stop(): Promise<void>;
}

/**
 * Writes the rows that ingress reads, as the projector does: orders that open and are cancelled, a cancellation before or
 * behind its order. It also appends a block to each partition every 200 ms.
 */
export async function startFakeProjector(parts: FakeProjectorParts): Promise<FakeProjector> {
  const { log, appender, postgres, topic, partitions } = parts;
  const facts: FakeProjector['facts'] = [];
  let gate: Promise<void> = Promise.resolve();
  let open: () => void = () => undefined;
  const following = log.followTopic({
    topic,
    from: 'beginning',
    onRecords: async (partition, records) => {
      for (const record of records) {
        if (record.headers['ce_type'] !== 'makerbook.BlockProcessed.v1') facts.push({ partition, record });
      }
      await gate;
      await postgres.transaction((query) => project(query, partition, records));
    },
    onFatal: (error) => console.error(error),
  });
  const blocks = appendBlocks(appender, topic, partitions);
  return {
    facts,
    pause() {
      gate = new Promise((resolve) => {
        open = resolve;
      });
    },
    resume() {
      open();
      gate = Promise.resolve();
    },
    async stop() {
      clearInterval(blocks);
      open();
      await following.stop();
    },
  };
}

function appendBlocks(appender: Appender, topic: string, partitions: number): NodeJS.Timeout {
  let block = 1;
  return setInterval(() => {
    block += 1;
    for (let partition = 0; partition < partitions; partition += 1) {
      const hash = `0x${block.toString(16).padStart(64, '0')}` as Hex;
      const fact = { type: 'BlockProcessed' as const, block: { number: block, hash, timestamp: block } };
      const message = encodeMakerEvent(fact, { id: `${block}:${partition}`, source: '/test', timeMs: 0 });
      appender.append([{ topic, partition, ...message, key: '' }]).catch(() => undefined);
    }
  }, BLOCK_MS);
}

async function project(query: Query, partition: number, records: readonly StoredRecord[]): Promise<void> {
  for (const { headers, value, offset } of records) {
    const fact = decodeMakerEvent({ headers: { ...headers }, value });
    if ('unreadable' in fact) throw new Error(fact.unreadable);
    if (fact.type !== 'OrderSubmitted' && fact.type !== 'OrderCancelled') continue;
    const { orderHash, maker } = fact;
    const known = await query<{ state: string }>('select state from hashes where order_hash = $1 and maker = $2', [
      byteaOf(orderHash),
      byteaOf(maker),
    ]);
    if (fact.type === 'OrderSubmitted') await submit(query, partition, fact, offset, known[0]?.state);
    else {
      await cancel(query, maker, orderHash);
      if (known.length === 0) await remember(query, partition, fact, 'CANCELLED', fact.expiresAtSeconds);
    }
  }
  const last = records.at(-1);
  if (last === undefined) return;
  await query(
    `insert into projections (partition, next_offset, clock_ms) values ($1, $2, $3)
     on conflict (partition) do update set next_offset = excluded.next_offset, clock_ms = excluded.clock_ms`,
    [partition, last.offset + 1n, last.timestampMs],
  );
  for (const table of ['in_flight', 'cancelling']) {
    await query(`delete from ${table} where partition = $1 and until_ms < $2`, [partition, last.timestampMs]);
  }
}

async function submit(
  query: Query,
  partition: number,
  fact: OrderSubmitted,
  offset: bigint,
  known: string | undefined,
): Promise<void> {
  const { orderHash, maker, signature } = fact;
  const order = orderFromBody(fact.order);
  await query('delete from in_flight where order_hash = $1', [byteaOf(orderHash)]);
  if (known !== undefined) return;
  await query(
    `insert into orders (order_hash, maker, partition, accepted_offset, accepted_at_ms, expires_at_seconds,
       making_token, making_amount, remaining, is_observed, status, in_book, record_start)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $8, false, 'VALIDATING', true, $9)`,
    [
      byteaOf(orderHash),
      byteaOf(maker),
      partition,
      offset,
      fact.acceptedAtMs,
      order.expiresAt,
      byteaOf(order.making.token),
      order.making.amount,
      recordStart({ order, orderHash, signature }),
    ],
  );
  await query(
    `insert into makers (maker, partition, admission, open_orders) values ($1, $2, 'ADMITTED', 1)
     on conflict (maker) do update set open_orders = makers.open_orders + 1`,
    [byteaOf(maker), partition],
  );
  await remember(query, partition, fact, 'ACCEPTED', Number(order.expiresAt));
}

async function cancel(query: Query, maker: Hex, orderHash: Hex): Promise<void> {
  const own = [byteaOf(orderHash), byteaOf(maker)];
  await query('delete from cancelling where order_hash = $1 and maker = $2', own);
  const removed = await query('delete from orders where order_hash = $1 and maker = $2 returning 1', own);
  await query('update makers set open_orders = open_orders - $2 where maker = $1', [byteaOf(maker), removed.length]);
}

async function remember(
  query: Query,
  partition: number,
  { orderHash, maker }: { readonly orderHash: Hex; readonly maker: Hex },
  state: string,
  expiresAtSeconds: number,
): Promise<void> {
  await query(
    `insert into hashes (order_hash, maker, partition, state, nonce, expires_at_seconds) values ($1, $2, $3, $4, 0, $5)`,
    [byteaOf(orderHash), byteaOf(maker), partition, state, expiresAtSeconds],
  );
}
