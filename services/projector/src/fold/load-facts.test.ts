import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import type { Hex } from '@makerbook/contracts-primitives';
import { sendAtOnce, until } from '@makerbook/parts';
import type { ProjectionStore } from '../store/open-store.js';
import { type TestProjectorParts, testPartition, testPartitions } from '../testing/create-test-projector.js';
import { blockAt, makersOf, startSeconds, submittedOf } from '../testing/generate-facts.js';
import { cancelled, GivenPartition, observed, submitted } from '../testing/given-partition.js';

const makers = makersOf(testPartition, testPartitions, 5);

/** Five makers with two committed orders each. Notes how many open orders each read returns. */
async function given(heldMax: number) {
  const cut: { -readonly [Key in keyof TestProjectorParts]?: TestProjectorParts[Key] } = { heldMax };
  const partition = new GivenPartition(cut);
  const store = partition.rows.connect(sendAtOnce);
  const reads: number[] = [];
  let committing = Promise.resolve();
  cut.store = {
    ...store,
    readMakers: async (...asked: Parameters<ProjectionStore['readMakers']>) => {
      const rows = await store.readMakers(...asked);
      reads.push(rows.orders.length);
      return rows;
    },
    saveProjection: async (commit) => {
      await committing;
      await store.saveProjection(commit);
    },
  };
  for (const maker of makers) await partition.when(submitted(maker, 0), submitted(maker, 1));
  // Nothing is in memory any more.
  await partition.taken();
  reads.length = 0;
  /** Holds up all commits until the returned function is called. */
  const hang = () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    committing = promise;
    return resolve;
  };
  return { partition, reads, hang };
}

const touching = (maker: Hex) => [observed(maker, [0, 1]), cancelled(maker, 1)];
const block = blockAt(9, startSeconds + 5);

test.each([0, 2, 6, 9])('a batch with more makers than may be held (%d) is read in parts', async (heldMax) => {
  const bounded = await given(heldMax);
  const unbounded = await given(1_000);
  const batch = [...makers.flatMap(touching), block];
  expect(await bounded.partition.when(...batch)).toEqual(await unbounded.partition.when(...batch));
  expect(bounded.partition.tables).toEqual(unbounded.partition.tables);
  expect(bounded.reads).toEqual([2, 2, 2, 2, 2]);
  expect(unbounded.reads).toEqual([10]);
});

/** Long enough for another read if nothing holds it up. */
const READ_MS = 50;

test('makers with uncommitted changes count as held: while a commit hangs, no more are read', async () => {
  const { partition, reads, hang } = await given(6);
  const goOn = hang();
  const folded = partition.when(...makers.flatMap(touching), block);
  await until(() => reads.length >= 2);
  await pause(READ_MS);
  expect(reads).toEqual([2, 2]);
  goOn();
  await folded;
  expect(reads).toEqual([2, 2, 2, 2, 2]);
});

test('while a commit hangs, a block reads no more due makers, even if it changes none of them', async () => {
  const { partition, reads, hang } = await given(6);
  const soon = startSeconds + 100;
  for (const maker of makers) {
    await partition.when(cancelled(maker, 1), submittedOf(maker, 2, soon), cancelled(maker, 2));
  }
  await partition.taken();
  reads.length = 0;
  const goOn = hang();
  const folded = partition.when(blockAt(9, soon));
  await until(() => reads.length >= 1);
  await pause(READ_MS);
  expect(reads).toEqual([3]);
  goOn();
  expect(await folded).toEqual([expect.stringMatching(/block 9$/)]);
  expect(reads).toEqual([3, 2]);
});
