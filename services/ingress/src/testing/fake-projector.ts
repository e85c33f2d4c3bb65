import { decodeMakerEvent, encodeMakerEvent } from '@makerbook/contracts-events';
import type { Hex } from '@makerbook/contracts-primitives';
import { orderFromBody, recordEnd, recordStart } from '@makerbook/domain';
import type { Appender, Log, StoredRecord } from '@makerbook/kafka';
import {
  findKnownHashes,
  type HashRow,
  type Postgres,
  type ProjectionCommit,
  saveProjection,
  takeProjection,
} from '@makerbook/postgres';
import { createPartitionRefresher, type OrderChange, type RedisConnection } from '@makerbook/redis';

const BLOCK_MS = 200;

export interface FakeProjectorParts {
  readonly log: Log;
  readonly appender: Appender;
  readonly postgres: Postgres;
  readonly redis: RedisConnection;
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
 * Maintains Postgres and Redis from the log, by the same packages as the projector. It folds opened and cancelled orders
 * alone, a cancellation before or behind its order. It also appends a block to each partition every 200 ms.
 */
export async function startFakeProjector(parts: FakeProjectorParts): Promise<FakeProjector> {
  const { log, appender, postgres, redis, topic, partitions } = parts;
  const facts: FakeProjector['facts'] = [];
  let gate: Promise<void> = Promise.resolve();
  let open: () => void = () => undefined;
  const refresher = createPartitionRefresher(redis);
  for (let partition = 0; partition < partitions; partition += 1) await takeProjection(postgres, partition);
  const following = log.followTopic({
    topic,
    from: 'beginning',
    onRecords: async (partition, records) => {
      for (const record of records) {
        if (record.headers['ce_type'] !== 'makerbook.BlockProcessed.v1') facts.push({ partition, record });
      }
      await gate;
      await project(postgres, refresher, partition, records);
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
      const fact = { type: 'BlockProcessed' as const, block: { number: block, hash, timestamp: block }, term: 1 };
      const message = encodeMakerEvent(fact, { id: `${block}:${partition}`, source: '/test', timeMs: 0 });
      appender.append([{ topic, partition, ...message, key: '' }]).catch(() => undefined);
    }
  }, BLOCK_MS);
}

async function project(
  postgres: Postgres,
  refresher: ReturnType<typeof createPartitionRefresher>,
  partition: number,
  records: readonly StoredRecord[],
): Promise<void> {
  const { nextOffset: from, clock } = (await takeProjection(postgres, partition)).projection;
  const opened = new Map<Hex, ProjectionCommit['opened'][number]>();
  const hashes = new Map<Hex, HashRow>();
  const removed: Hex[] = [];
  const history: ProjectionCommit['history'][number][] = [];
  const changes: OrderChange[] = [];
  for (const { headers, value, offset } of records) {
    const fact = decodeMakerEvent({ headers: { ...headers }, value });
    if ('unreadable' in fact) throw new Error(fact.unreadable);
    if (fact.type === 'OrderSubmitted') {
      const order = orderFromBody(fact.order);
      const start = recordStart({ order, orderHash: fact.orderHash, signature: fact.signature });
      const amount = order.making.amount.toString();
      const common = { orderHash: fact.orderHash, maker: fact.maker, status: 'VALIDATING', reason: null };
      const expiresAtSeconds = Number(order.expiresAt);
      const accepted = { acceptedOffset: offset, acceptedAtMs: fact.acceptedAtMs, recordStart: start };
      const amounts = { makingToken: order.making.token, makingAmount: amount, remaining: amount };
      const terms = { ...amounts, isObserved: false, inBook: true };
      const { orderHash, maker } = fact;
      history.push({ ...common, logOffset: offset, happened: 'OPENED', remaining: amount });
      const [before] = (await findKnownHashes(postgres, partition, [{ maker, orderHash }])).hashes;
      const isCancelled = (hashes.get(orderHash) ?? before)?.state === 'CANCELLED';
      const nonce = String(order.nonce);
      hashes.set(orderHash, { maker, orderHash, state: 'ACCEPTED', salt: null, nonce, expiresAtSeconds });
      if (isCancelled) continue;
      opened.set(orderHash, { ...common, ...accepted, ...terms, expiresAtSeconds });
      const record = start + recordEnd({ status: 'VALIDATING' });
      changes.push({
        kind: 'opened',
        maker,
        orderHash,
        salt: fact.order.salt,
        acceptedOffset: offset,
        expiresAtSeconds,
        record,
      });
    } else if (fact.type === 'OrderCancelled') {
      const { orderHash, maker, expiresAtSeconds } = fact;
      const [before] = (await findKnownHashes(postgres, partition, [{ maker, orderHash }])).hashes;
      if (!opened.delete(orderHash)) {
        if (before?.state === 'ACCEPTED') removed.push(orderHash);
        else if (before === undefined && !hashes.has(orderHash)) {
          const cancelled = { state: 'CANCELLED', salt: null, nonce: null, expiresAtSeconds } as const;
          hashes.set(orderHash, { maker, orderHash, ...cancelled });
        }
      }
      changes.push({ kind: 'removed', maker, orderHash, expiresAtSeconds });
    }
  }
  const last = records.at(-1);
  if (last === undefined) return;
  const nextOffset = last.offset + 1n;
  await saveProjection(postgres, {
    partition,
    from: { nextOffset: from, blockParts: 0 },
    to: { nextOffset, blockParts: 0 },
    clock,
    clockMs: last.timestampMs,
    forgetsEnded: false,
    makers: [],
    funding: [],
    fundingDropped: [],
    opened: [...opened.values()],
    changed: [],
    removed,
    history,
    hashes: [...hashes.values()],
    submitted: [],
    settled: [],
  });
  await refresher.refreshPartition({ partition, prevPos: from, newPos: nextOffset, changes }).catch(() => undefined);
}
