import { connect as connectTcp, createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { type Hex, type MakerEvent, topicNames, topicSpecs } from '@makerbook/contracts-events';
import { type OpenOrder, recordEnd, recordStart } from '@makerbook/domain';
import { FatalError, PoisonRecord, RetryableError, type StoredRecord } from '@makerbook/kafka';
import { testParts } from '@makerbook/local-stack';
import { connectPostgres, hashReadModel, migrate, projectedPosition, readMakerList } from '@makerbook/postgres';
import fc from 'fast-check';
import type { Step } from './commit-stretch.js';
import { factStreams, makersOf, orderOf, startSeconds, storedRecord } from './testing/generate-facts.js';
import {
  batchOf,
  deploy,
  type FeedMessage,
  fresh,
  testPartition as partition,
  projectAll,
  type TestDeployment,
  testPartitions,
  withoutRepeats,
} from './testing/test-projection.js';

const makers = makersOf(partition, testPartitions, 3);
const maker = makers[0] as Hex;
const cause = { kind: 'request' as const, requestId: 'request' };

/** One stream with a bit of everything in it; the same one every time. */
const [stream] = fc.sample(factStreams(makers, partition, { min: 250, max: 260, orders: 12 }), {
  numRuns: 1,
  seed: 7,
}) as [StoredRecord[]];
const half = stream.length >> 1;

function submitted(number: number, offset: bigint, changed: object = {}): StoredRecord {
  const order = { ...orderOf(maker, number), ...changed };
  const fact = { type: 'OrderSubmitted' as const, maker, ...order, acceptedAtMs: startSeconds * 1000, cause };
  return storedRecord(fact, { partition, offset }, startSeconds * 1000);
}

let here: TestDeployment;
let reference: { hash: Awaited<ReturnType<TestDeployment['hash']>>; book: FeedMessage[]; makers: FeedMessage[] };

/** What an undisturbed projection of the stream leaves behind. */
async function project(deployment: TestDeployment) {
  await projectAll(deployment.projector(), stream);
  return feedsOf(deployment);
}

async function feedsOf(deployment: TestDeployment) {
  return {
    hash: await deployment.hash(),
    book: await deployment.readFeed(deployment.topics.book),
    makers: await deployment.readFeed(deployment.topics.makers),
  };
}

/** Stops a projector at a step, once and for all: as a killed process, it does nothing any more. */
function killedAt(step: Step) {
  return {
    onStep: (reached: Step) => {
      if (reached === step) throw new Error(`killed ${step}`);
    },
  };
}

beforeEach(async () => {
  here = await deploy();
  if (reference === undefined) {
    const undisturbed = await deploy();
    reference = await project(undisturbed);
    await undisturbed.stop();
    expect(reference.book.length).toBeGreaterThan(20);
    expect(reference.makers.length).toBeGreaterThan(2);
  }
});
afterEach(() => here.stop());

describe('a projector that is killed', () => {
  test('before the commit leaves nothing behind, and the next one folds the batch again', async () => {
    await projectAll(here.projector(), stream.slice(0, half));
    const before = await here.hash();
    await expect(projectAll(here.projector(killedAt('before commit')), stream)).rejects.toThrow('killed');
    expect(await here.hash()).toEqual(before);
    await projectAll(here.projector(), stream);
    expect(withoutRepeats((await feedsOf(here)).book)).toEqual(reference.book);
    expect(await here.hash()).toEqual(reference.hash);
  });

  test('after the commit and before publishing: the next owner publishes the same bytes, in order', async () => {
    await expect(projectAll(here.projector(killedAt('after commit')), stream)).rejects.toThrow('killed');
    expect(await here.readFeed(here.topics.book)).toEqual([]);
    await projectAll(here.projector(), stream);
    expect(await feedsOf(here)).toEqual(reference);
  });

  test('after publishing: the next owner repeats the last messages and changes nothing', async () => {
    await expect(projectAll(here.projector(killedAt('after publish')), stream)).rejects.toThrow('killed');
    await projectAll(here.projector(), stream);
    const feeds = await feedsOf(here);
    expect(feeds.hash).toEqual(reference.hash);
    expect(feeds.book.length).toBeGreaterThan(withoutRepeats(feeds.book).length);
    expect(withoutRepeats(feeds.book)).toEqual(reference.book);
    expect(withoutRepeats(feeds.makers)).toEqual(reference.makers);
  });

  test('after every single batch, at any step, still leaves the rows and feeds of an undisturbed run', async () => {
    const steps: Step[] = ['before commit', 'after commit', 'after publish'];
    for (let at = 0, turn = 0; at < stream.length; turn += 1) {
      const step = steps[turn % 3] as Step;
      await projectAll(here.projector(killedAt(step)), stream, () => 40).catch((error: Error) => {
        expect(error.message).toMatch(/^killed/);
      });
      const position = await projectedPosition(here.postgres, partition);
      at = stream.filter(({ offset }) => offset < position).length;
    }
    await projectAll(here.projector(), stream);
    const feeds = await feedsOf(here);
    expect(feeds.hash).toEqual(reference.hash);
    expect(withoutRepeats(feeds.book)).toEqual(reference.book);
  });
});

describe('two owners of one partition', () => {
  test('only one commits each batch, the one that was there first cannot publish any more, and nothing is lost', async () => {
    const [earlier, later] = [here.projector(), here.projector()];
    await earlier.positionOf(partition);
    await later.positionOf(partition);
    const batch = batchOf(stream, 0n);
    // The earlier one commits, and is told so when it wants to publish.
    await expect(earlier.handleBatch(batch, fresh)).rejects.toThrow(RetryableError);
    expect(await here.readFeed(here.topics.book)).toEqual([]);
    // The later one finds the position taken, reads it again, and publishes what was left.
    await expect(later.handleBatch(batch, fresh)).rejects.toThrow(RetryableError);
    await later.handleBatch(batch, fresh);
    const feeds = await feedsOf(here);
    expect(feeds.hash).toEqual(reference.hash);
    expect(feeds.book).toEqual(reference.book);
  });

  test('at the same moment: the rows are those of one', async () => {
    const pair = [here.projector(), here.projector()];
    await Promise.all(pair.map((one) => one.positionOf(partition)));
    const outcomes = await Promise.allSettled(pair.map((one) => one.handleBatch(batchOf(stream, 0n), fresh)));
    expect(outcomes.some(({ status }) => status === 'rejected')).toBe(true);
    await projectAll(here.projector(), stream);
    const feeds = await feedsOf(here);
    expect(feeds.hash).toEqual(reference.hash);
    expect(withoutRepeats(feeds.book)).toEqual(reference.book);
  });

  test('an owner that was told that the partition is no longer its own does not touch it', async () => {
    const projector = here.projector();
    await projector.positionOf(partition);
    const stale = {
      ...fresh,
      heartbeat: () => {
        throw new RetryableError('given to another member');
      },
    };
    await expect(projector.handleBatch(batchOf(stream, 0n), stale)).rejects.toThrow(RetryableError);
    expect(await projectedPosition(here.postgres, partition)).toBe(0n);
  });
});

describe('a projection', () => {
  test('replayed from zero into an empty database and feeds made anew gives the same rows and messages', async () => {
    await projectAll(here.projector(), stream, (batch) => 1 + (batch % 13));
    const url = await testParts().databaseUrl();
    await migrate({ url });
    const empty = connectPostgres({ url, connectTimeoutMs: 60_000, statementTimeoutMs: 60_000 });
    const topics = { ...topicNames(`${here.prefix}again.`), makerEvents: here.topics.makerEvents };
    const specs = topicSpecs(topics, testPartitions).slice(1);
    await here.log.createTopics(specs.map((spec) => ({ ...spec, replicationFactor: 1 })));
    await projectAll(here.projector({ postgres: empty, topics }), stream);
    expect(await hashReadModel(empty)).toEqual(await here.hash());
    expect(await here.readFeed(topics.book)).toEqual(await here.readFeed(here.topics.book));
    expect(await here.readFeed(topics.makers)).toEqual(await here.readFeed(here.topics.makers));
    await empty.close();
  });

  test('in any batches, with and without makers in memory, leaves the same rows and feeds', async () => {
    const cases = fc.record({
      lengths: fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 5 }),
      cachedOrdersMax: fc.constantFrom(0, 3, 1000),
    });
    for (const { lengths, cachedOrdersMax } of fc.sample(cases, { numRuns: 6, seed: 11 })) {
      const there = await deploy();
      const cut = (batch: number) => lengths[batch % lengths.length] ?? 1;
      await projectAll(there.projector({ cachedOrdersMax }), stream, cut);
      const feeds = await feedsOf(there);
      await there.stop();
      expect({ lengths, cachedOrdersMax, hash: feeds.hash }).toEqual({
        lengths,
        cachedOrdersMax,
        hash: reference.hash,
      });
      expect(withoutRepeats(feeds.book)).toEqual(reference.book);
    }
  });

  test('moves its position over control records, in Postgres and in Redis', async () => {
    const projector = here.projector();
    await projectAll(projector, stream);
    const position = await projectedPosition(here.postgres, partition);
    await projector.handleBatch({ partition, records: [], fromOffset: position, nextOffset: position + 3n }, fresh);
    expect(await projectedPosition(here.postgres, partition)).toBe(position + 3n);
    const pos = await here.redis.client.hget(here.redis.keys.partition(partition), 'pos');
    expect(BigInt(pos ?? -1)).toBe(position + 3n);
  });

  test('lists each record exactly as the fold describes it, whatever its status', async () => {
    const at = { number: 1, hash: orderOf(maker, 0).orderHash, timestamp: startSeconds };
    const of = { maker, block: at, cause };
    const { token } = orderOf(maker, 0).order.making;
    const chain: MakerEvent[] = [
      { ...of, type: 'NonceChanged', nonce: '0x0' },
      { ...of, type: 'BalanceChanged', token, balance: '0x14' },
      { ...of, type: 'AllowanceChanged', token, allowance: '0x14' },
      ...[0, 1, 2].map((number): MakerEvent => {
        return { ...of, type: 'OrderFilled', orderHash: orderOf(maker, number).orderHash, filledMakingAmount: '0x0' };
      }),
    ];
    const facts = chain.map((fact, index) => storedRecord(fact, { partition, offset: BigInt(3 + index) }));
    const projector = here.projector();
    await projectAll(projector, [submitted(0, 0n), submitted(1, 1n), submitted(2, 2n), ...facts]);
    const orders = projector.owned.get(partition)?.cache.get(maker)?.orders ?? new Map<Hex, OpenOrder>();
    const described = [...orders.values()].map((order) => recordStart(order) + recordEnd(order.state));
    const { records, nextOffset } = await readMakerList(here.postgres, maker, partition);
    expect(nextOffset).toBe(9n);
    expect(records.map(({ json }) => json)).toEqual(described);
    expect(records.map(({ json }) => JSON.parse(json).status)).toEqual(['ACTIVE', 'VALIDATING', 'INACTIVE']);
  });

  test('names the message that the read model refuses, after everything before it was committed', async () => {
    const amount = { token: orderOf(maker, 0).order.making.token, amount: '0x0' as const };
    const poison = { order: { ...orderOf(maker, 2).order, making: amount } };
    const records = [submitted(0, 0n), submitted(1, 1n), submitted(2, 2n, poison), submitted(3, 3n), submitted(5, 4n)];
    const projector = here.projector();
    await projector.positionOf(partition);
    const failure = await projector.handleBatch(batchOf(records, 0n), fresh).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(PoisonRecord);
    expect(failure).toMatchObject({ offset: 2n });
    expect(await projectedPosition(here.postgres, partition)).toBe(2n);
    // As the consumer loop goes on: the same batch without the parked message.
    const { fromOffset, nextOffset } = batchOf(records, 0n);
    const rest = batchOf([records[0], records[1], records[3], records[4]] as StoredRecord[], 0n);
    await projector.handleBatch({ ...rest, fromOffset, nextOffset }, fresh);
    const { records: listed } = await readMakerList(here.postgres, maker, partition);
    expect(listed.map(({ acceptedOffset }) => acceptedOffset)).toEqual([0n, 1n, 3n, 4n]);
  });

  test('refuses a batch that begins beyond its position', async () => {
    const projector = here.projector();
    await projector.positionOf(partition);
    await expect(projector.handleBatch(batchOf(stream.slice(5), 5n), fresh)).rejects.toThrow(FatalError);
  });
});

describe('while a dependency is away', () => {
  test('Postgres: the batch waits, and is folded when it is back', async () => {
    const gate = await openGate(new URL(here.databaseUrl));
    const url = new URL(here.databaseUrl);
    url.host = `127.0.0.1:${gate.port}`;
    const postgres = connectPostgres({ url: url.href, connectTimeoutMs: 60_000 });
    const projector = here.projector({ postgres });
    await projectAll(projector, stream.slice(0, half));
    gate.close();
    const rest = batchOf(stream.slice(half), stream[half - 1] ? (stream[half - 1] as StoredRecord).offset + 1n : 0n);
    await expect(projector.handleBatch(rest, fresh)).rejects.toThrow(RetryableError);
    await expect(projector.handleBatch(rest, fresh)).rejects.toThrow(RetryableError);
    gate.open();
    await projector.handleBatch(rest, fresh);
    expect(await here.hash()).toEqual(reference.hash);
    await postgres.close();
    await gate.stop();
  });

  test('Redis: the projection goes on, and when Redis is back the partition is forgotten there and fills anew', async () => {
    const { createPartitionRefresher, connectRedis } = await import('@makerbook/redis');
    const { createCacheRefresh } = await import('./refresh-cache.js');
    const { silentLogger } = await import('@makerbook/telemetry');
    const gate = await openGate(new URL(testParts().redisUrl));
    const redis = connectRedis({
      url: `redis://127.0.0.1:${gate.port}`,
      keyPrefix: here.prefix,
      logger: silentLogger,
      commandTimeoutMs: 30_000,
      connectTimeoutMs: 30_000,
    });
    await redis.waitUntilReady(60_000);
    const outcomes: string[] = [];
    const refreshCache = createCacheRefresh(createPartitionRefresher(redis), silentLogger, (outcome) =>
      outcomes.push(outcome),
    );
    const projector = here.projector({ refreshCache });
    const third = Math.floor(stream.length / 3);
    await projectAll(projector, stream.slice(0, third));
    const epoch = await here.redis.client.hget(here.redis.keys.partition(partition), 'epoch');
    gate.close();
    await projectAll(projector, stream.slice(0, 2 * third));
    gate.open();
    expect(await redis.waitUntilReady(60_000)).toBe(true);
    await projectAll(projector, stream);
    const state = await here.redis.client.hgetall(here.redis.keys.partition(partition));
    expect(outcomes).toContain('skipped');
    expect(state['epoch']).not.toBe(epoch);
    expect(BigInt(state['pos'] ?? -1)).toBe(await projectedPosition(here.postgres, partition));
    expect(await here.hash()).toEqual(reference.hash);
    await redis.close();
    await gate.stop();
  });
});

/** A way to a server that can be shut: connections through it are cut, and new ones refused. */
async function openGate(to: URL) {
  const sockets = new Set<Socket>();
  const keep = (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => sockets.delete(socket));
    return socket;
  };
  let isOpen = true;
  const server: Server = createServer((incoming) => {
    if (!isOpen) {
      incoming.destroy();
      return;
    }
    const outgoing = keep(connectTcp(Number(to.port), to.hostname));
    keep(incoming).pipe(outgoing).pipe(incoming);
    incoming.on('close', () => outgoing.destroy());
    outgoing.on('close', () => incoming.destroy());
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the gate does not listen');
  const cut = () => {
    isOpen = false;
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: address.port,
    close: cut,
    open: () => {
      isOpen = true;
    },
    stop: async () => {
      cut();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
}
