import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Hex } from '@makerbook/contracts-primitives';
import type { StoredRecord } from '@makerbook/kafka';
import { readProjection } from '@makerbook/postgres';
import { blockAt, makersOf, startSeconds, streamOf, submittedOf } from '../testing/generate-facts.js';
import {
  appendAll,
  batchOf,
  deploy,
  fresh,
  killedAt,
  testPartition as partition,
  projectAll,
  steps,
  type TestDeployment,
  testPartitions,
} from '../testing/test-projection.js';

const expiresAt = startSeconds + 1_000;

/** Orders that all expire in the same second, a block that takes them out of the book, and one that removes them. */
function expiringStream(makers: readonly Hex[], ordersOfMaker: number): StoredRecord[] {
  const orders = makers.flatMap((maker) =>
    Array.from({ length: ordersOfMaker }, (_, number) => submittedOf(maker, number, expiresAt)),
  );
  return streamOf([...orders, blockAt(1, expiresAt - 60), blockAt(2, expiresAt)], partition);
}

async function outcomeOf({ hash, readFeed, topics }: TestDeployment) {
  return { hash: await hash(), book: await readFeed(topics.book) };
}

let here: TestDeployment;
beforeEach(async () => {
  here = await deploy();
});
afterEach(() => here.stop());

/** The outcome with one commit for each block. */
async function undisturbed(stream: readonly StoredRecord[]) {
  const there = await deploy();
  await projectAll(there, there.projector({ commitTransitionsMax: 1_000_000 }), stream);
  const outcome = await outcomeOf(there);
  await there.stop();
  return outcome;
}

describe('a block at which many orders expire', () => {
  const makers = makersOf(partition, testPartitions, 7);
  const stream = expiringStream(makers, 4);
  const orders = stream.slice(0, -2);
  const beforeBlocks = BigInt(orders.length);
  /** Two makers to a commit: four commits for each block. */
  const small = { commitTransitionsMax: 8 };

  test('is committed in parts, the position before it until the last one, and gives what one commit gives', async () => {
    await projectAll(here, here.projector(), orders);
    const seen: unknown[] = [];
    const projector = here.projector({
      ...small,
      onStep: async (step) => {
        if (step !== 'after commit') return;
        const { nextOffset, blockParts, clock } = await readProjection(here.postgres, partition);
        seen.push([nextOffset, blockParts, clock.block]);
      },
    });
    await projectAll(here, projector, stream);
    const [grace, expiry] = [beforeBlocks, beforeBlocks + 1n];
    expect(seen).toEqual([
      ...[1, 2, 3].map((parts) => [grace, parts, -1]),
      // The rest of the one block, and the first part of the other, whose removals no reader sees.
      ...[1, 2, 3, 4].map((parts) => [expiry, parts, 1]),
      [expiry + 1n, 0, 2],
    ]);
    expect(await outcomeOf(here)).toEqual(await undisturbed(stream));
  });

  test.each(steps)(
    'killed %s of each part in turn, loses nothing, doubles nothing, and keeps the order',
    async (step) => {
      await projectAll(here, here.projector(), orders);
      let killed = 0;
      for (let turn = 0; turn < 40; turn += 1) {
        const overrides = { ...small, ...killedAt(step, step.startsWith('before') ? 1 : 0) };
        const outcome = await projectAll(here, here.projector(overrides), stream).catch((error: Error) => error);
        if (outcome === undefined) break;
        expect(outcome.message).toBe(`killed ${step}`);
        killed += 1;
      }
      expect(killed).toBeGreaterThan(0);
      await projectAll(here, here.projector(small), stream);
      expect(await outcomeOf(here)).toEqual(await undisturbed(stream));
    },
  );

  test('of several owners at once leaves the rows and feeds of one', async () => {
    await projectAll(here, here.projector(), orders);
    await appendAll(here, stream);
    const blocks = batchOf(stream.slice(-2), beforeBlocks);
    for (let round = 0; round < 6; round += 1) {
      const owners = [here.projector(small), here.projector(small), here.projector(small)];
      await Promise.allSettled(owners.map((owner) => owner.positionOf(partition)));
      await Promise.allSettled(owners.map((owner) => owner.handleBatch(blocks, fresh)));
    }
    await projectAll(here, here.projector(small), stream);
    expect(await outcomeOf(here)).toEqual(await undisturbed(stream));
  });
});
