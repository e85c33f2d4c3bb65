import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Hex, MakerEvent } from '@makerbook/contracts-events';
import { RetryableError, type StoredRecord } from '@makerbook/kafka';
import { findFreePort } from '@makerbook/local-stack';
import { readMakerList, readProjection } from '@makerbook/postgres';
import { createListCache } from '@makerbook/redis';
import type { Step } from './commit-stretch.js';
import type { ProjectorParts } from './project-events.js';
import { makersOf, orderOf, startSeconds, storedRecord } from './testing/generate-facts.js';
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

const cause = { kind: 'request' as const, requestId: 'request' };
const expiresAt = startSeconds + 1_000;

/** Orders that all expire in the same second, a block that takes them out of the book, and one that removes them. */
function expiringStream(makers: readonly Hex[], ordersOfMaker: number): StoredRecord[] {
  const orders = makers.flatMap((maker) =>
    Array.from({ length: ordersOfMaker }, (_, number): MakerEvent => {
      const { order, orderHash, signature } = orderOf(maker, number);
      const same = { ...order, nonce: '0x0' as const, expiresAt: `0x${expiresAt.toString(16)}` as const };
      const acceptedAtMs = startSeconds * 1000;
      return { type: 'OrderSubmitted', maker, order: same, orderHash, signature, acceptedAtMs, cause };
    }),
  );
  const facts = [...orders, blockAt(1, expiresAt - 60), blockAt(2, expiresAt)];
  return facts.map((fact, index) => storedRecord(fact, { partition, offset: BigInt(index) }, startSeconds * 1000));
}

function blockAt(number: number, timestamp: number): MakerEvent {
  return { type: 'BlockProcessed', block: { number, hash: `0x${'0'.repeat(64)}`, timestamp } };
}

async function outcomeOf(deployment: TestDeployment) {
  const { book, resume } = deployment.topics;
  return {
    hash: await deployment.hash(),
    book: withoutRepeats(await deployment.readFeed(book)),
    // Positions hang on the projector's clock.
    resume: withoutRepeats(await deployment.readFeed(resume)).filter(({ key }) => !key.startsWith('position:')),
  };
}

let here: TestDeployment;
const children: ChildProcess[] = [];
beforeEach(async () => {
  here = await deploy();
});
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await here.stop();
});

/** What one commit for each block leaves behind. */
async function undisturbed(stream: readonly StoredRecord[]) {
  const there = await deploy();
  await projectAll(there.projector({ commitTransitionsMax: 1_000_000 }), stream);
  const outcome = await outcomeOf(there);
  await there.stop();
  return outcome;
}

describe('a block at which many orders expire', () => {
  const makers = makersOf(partition, testPartitions, 7);
  const stream = expiringStream(makers, 4);
  const orders = stream.slice(0, -2);
  const beforeBlocks = BigInt(orders.length);
  /** Two makers to a slice: four slices, the last of one maker. */
  const sliced = { commitTransitionsMax: 8 };

  async function standsAt(): Promise<[bigint, number]> {
    const { nextOffset, slices } = await readProjection(here.postgres, partition);
    return [nextOffset, slices];
  }

  function stoppedAfter(steps: number, at: Step): Partial<ProjectorParts> {
    let left = steps;
    return {
      ...sliced,
      onStep: (step) => {
        if (step !== at) return;
        left -= 1;
        if (left < 0) throw new Error(`killed ${at}`);
      },
    };
  }

  test('is committed in slices, the position before it until the last one, and gives what one commit gives', async () => {
    await projectAll(here.projector(), orders);
    const seen: unknown[] = [];
    const projector = here.projector({
      ...sliced,
      onStep: async (step) => {
        if (step !== 'after commit') return;
        const { blockNumber, clockSeconds } = await readProjection(here.postgres, partition);
        seen.push([...(await standsAt()), blockNumber, clockSeconds]);
      },
    });
    await projectAll(projector, stream);
    const [grace, expiry] = [beforeBlocks, beforeBlocks + 1n];
    expect(seen).toEqual([
      ...[1, 2, 3].map((slices) => [grace, slices, undefined, 0]),
      [expiry, 0, 1, expiresAt - 60],
      ...[1, 2, 3].map((slices) => [expiry, slices, 1, expiresAt - 60]),
      [expiry + 1n, 0, 2, expiresAt],
    ]);
    expect(await outcomeOf(here)).toEqual(await undisturbed(stream));
  });

  test.each<Step>(['before commit', 'after commit', 'after publish'])(
    'killed %s of each slice in turn, loses nothing, doubles nothing, and keeps the order',
    async (step) => {
      await projectAll(here.projector(), orders);
      const interrupted = new Set<number>();
      for (let turn = 0; turn < 40; turn += 1) {
        // Each owner does one slice; one that is killed before its commit does the one before it too.
        const projector = here.projector(stoppedAfter(step === 'before commit' ? 1 : 0, step));
        const outcome = await projectAll(projector, stream).catch((error: Error) => error);
        if (outcome === undefined) break;
        expect(outcome.message).toBe(`killed ${step}`);
        interrupted.add((await standsAt())[1]);
      }
      expect([...interrupted].sort()).toEqual([0, 1, 2, 3]);
      expect(await standsAt()).toEqual([beforeBlocks + 2n, 0]);
      expect(await outcomeOf(here)).toEqual(await undisturbed(stream));
    },
  );

  test('of two owners one commits each slice, though all slices stand at the same position', async () => {
    await projectAll(here.projector(), orders);
    const blocks = batchOf(stream.slice(-2), beforeBlocks);
    const [earlier, later] = [here.projector(sliced), here.projector(sliced)];
    await earlier.positionOf(partition);
    await later.positionOf(partition);
    // The earlier one commits the first slice, and is told when it wants to publish that it is no longer the owner.
    await expect(earlier.handleBatch(blocks, fresh)).rejects.toThrow(RetryableError);
    expect(await standsAt()).toEqual([beforeBlocks, 1]);
    const afterFirst = await here.hash();
    // The later one does not know of it, and is at the same position: it must not commit the slice again.
    await expect(later.handleBatch(blocks, fresh)).rejects.toThrow(/does not stand at/);
    expect(await here.hash()).toEqual(afterFirst);
    await later.handleBatch(blocks, fresh);
    expect(await outcomeOf(here)).toEqual(await undisturbed(stream));
  });

  test('of several owners at once leaves the rows and feeds of one', async () => {
    await projectAll(here.projector(), orders);
    const blocks = batchOf(stream.slice(-2), beforeBlocks);
    for (let round = 0; round < 6; round += 1) {
      const owners = [here.projector(sliced), here.projector(sliced), here.projector(sliced)];
      await Promise.allSettled(owners.map((owner) => owner.positionOf(partition)));
      await Promise.allSettled(owners.map((owner) => owner.handleBatch(blocks, fresh)));
    }
    await projectAll(here.projector(sliced), stream);
    expect(await outcomeOf(here)).toEqual(await undisturbed(stream));
  });

  test('shows in Redis at once and as a whole, and makes it forget the partition where an owner was lost in between', async () => {
    const lists = createListCache(here.redis);
    const [first, last] = [makers[0], makers.at(-1)] as [Hex, Hex];
    const cached = async (maker: Hex) => {
      const reading = await lists.readList(maker, partition, startSeconds);
      return reading.kind === 'list' ? reading.records.length : reading.kind;
    };
    const fill = async (maker: Hex) => {
      const reading = await lists.readList(maker, partition, startSeconds);
      if (reading.kind !== 'cold') throw new Error(`not cold: ${reading.kind}`);
      const { nextOffset: snapshotPos, records } = await readMakerList(here.postgres, maker, partition);
      return lists.fillList({ maker, partition, epoch: reading.epoch, snapshotPos, orders: records });
    };
    await projectAll(here.projector(), stream.slice(0, -1));
    expect(await fill(first)).toBe('filled');
    const during: unknown[] = [];
    const watching = here.projector({
      ...sliced,
      onStep: async (step) => {
        if (step !== 'after commit') return;
        // A list that is filled between two slices follows too.
        if (during.length === 0) expect(await fill(last)).toBe('filled');
        during.push([await cached(first), await cached(last), await lists.readPosition(partition)]);
      },
    });
    await watching.positionOf(partition);
    await watching.handleBatch(batchOf(stream.slice(-1), beforeBlocks + 1n), fresh);
    expect(during).toEqual(Array.from({ length: 4 }, () => [4, 4, beforeBlocks + 1n]));
    expect([await cached(first), await cached(last)]).toEqual([0, 0]);
    expect(await lists.readPosition(partition)).toBe(beforeBlocks + 2n);
    expect(here.refreshes.at(-1)).toBe('applied');

    // The same with other orders, and an owner that is killed after slices of which Redis was not told.
    const others = expiringStream(makers, 8)
      .slice(0, -2)
      .filter((_, index) => index % 8 >= 4);
    const block = storedRecord(blockAt(3, expiresAt + 5), { partition, offset: 0n });
    const rest = [...others.map((record) => withExpiry(record)), block].map((record, index) => {
      return { ...record, offset: beforeBlocks + 2n + BigInt(index) };
    });
    await projectAll(here.projector({ commitTransitionsMax: 1000 }), rest.slice(0, -1));
    expect([await cached(first), await cached(last)]).toEqual([4, 4]);
    await expect(projectAll(here.projector(stoppedAfter(1, 'after commit')), rest)).rejects.toThrow('killed');
    await projectAll(here.projector(sliced), rest);
    expect(here.refreshes.at(-1)).toBe('reset');
    expect(await lists.readPosition(partition)).toBe(beforeBlocks + 2n + BigInt(rest.length));
    expect(await cached(first)).toBe('cold');
    expect(await fill(first)).toBe('filled');
    expect(await cached(first)).toBe(0);
  });
});

/** The record with its order's expiry a little later. */
function withExpiry(record: StoredRecord): StoredRecord {
  const fact = JSON.parse(record.value?.toString() ?? '{}');
  const order = { ...fact.order, expiresAt: `0x${(expiresAt + 5).toString(16)}` };
  return { ...record, value: Buffer.from(JSON.stringify({ ...fact, order })) };
}

describe('4,000 orders that expire in one block', () => {
  const ordersOfMaker = 200;
  const count = 20 * ordersOfMaker;
  const makers = makersOf(partition, testPartitions, 20);
  const stream = expiringStream(makers, ordersOfMaker);

  test('are removed once each and in order, the projector killed again and again between slices', async () => {
    const appender = here.log.createAppender({ lingerMs: 0, timeoutMs: 60_000 });
    const append = async (records: readonly StoredRecord[]) => {
      const topic = here.topics.makerEvents;
      await appender.append(records.map(({ key, value, headers }) => ({ topic, partition, key, value, headers })));
    };
    for (let at = 0; at < stream.length - 2; at += 200) await append(stream.slice(at, Math.min(at + 200, count)));
    const stands = () => readProjection(here.postgres, partition);
    await startProcess('10000');
    await until(async () => (await stands()).nextOffset === BigInt(count));

    let betweenSlices = 0;
    for (const [index, block] of stream.slice(-2).entries()) {
      await append([block]);
      const end = BigInt(count + 1 + index);
      for (let kills = 0; kills < 2; kills += 1) {
        const { slices: before } = await stands();
        await until(async () => {
          const { slices, nextOffset } = await stands();
          return slices > before || nextOffset === end;
        });
        await kill();
        const { slices, nextOffset } = await stands();
        if (nextOffset < end && slices > 0) betweenSlices += 1;
        await startProcess('200');
      }
      await until(async () => (await stands()).nextOffset === end);
    }
    await kill();
    await startProcess('200');
    // Whoever takes the partition publishes what was left.
    await until(async () => {
      const removals = (await here.readFeed(here.topics.resume)).filter(isRemoval);
      return new Set(removals.map(({ key }) => key)).size === count;
    });
    expect(betweenSlices).toBeGreaterThan(1);

    const { hash, book, resume } = await outcomeOf(here);
    const hashes = makers.flatMap((maker) =>
      Array.from({ length: ordersOfMaker }, (_, n) => orderOf(maker, n).orderHash),
    );
    // By the address of their makers, and of one maker as they were accepted.
    expect(book.filter(isRemoval).map(({ key }) => key)).toEqual(hashes);
    expect(resume.filter(isRemoval).map(({ key }) => key)).toEqual(hashes);
    const [happened] = await here.postgres.query<{ count: bigint; hashes: bigint }>(
      "select count(*) as count, count(distinct order_hash) as hashes from order_history where happened = 'REMOVED'",
    );
    expect(happened).toEqual({ count: BigInt(count), hashes: BigInt(count) });
    const expected = await undisturbed(stream);
    expect(hash).toEqual(expected.hash);
    expect(book).toEqual(expected.book);
    expect(resume).toEqual(expected.resume);
  }, 420_000);

  const isRemoval = ({ value }: FeedMessage) => value === null;

  async function startProcess(commitTransitionsMax: string): Promise<void> {
    const child = spawn(process.execPath, [new URL('./main.js', import.meta.url).pathname], {
      env: {
        ...process.env,
        ...here.environment,
        OPS_PORT: String(await findFreePort()),
        COMMIT_TRANSITIONS_MAX: commitTransitionsMax,
      },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    children.push(child);
  }

  async function kill(): Promise<void> {
    const child = children.pop();
    if (child === undefined) throw new Error('there is nothing to kill');
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
});

async function until(condition: () => Promise<boolean>, withinMs = 120_000): Promise<void> {
  const end = performance.now() + withinMs;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error('it did not come about in time');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
