import { afterEach, expect, test } from '@jest/globals';
import { until } from '@makerbook/parts';
import { eachOnAStage } from './testing/each-on-a-stage.js';
import type { WatcherProcess } from './testing/run-watcher.js';
import type { Stage } from './testing/stage-chain.js';

const PARTITIONS = 3;

let stage: Stage;
const { run } = eachOnAStage((own) => {
  stage = own;
});
const watchers = new Set<WatcherProcess>();
afterEach(() => watchers.clear());

// Blocks come by the dozen here, and the test checks each of them.
const start = async () => watchers.add(await run({ TAKEOVER_MS: '2000', CATCH_UP_BLOCKS_MAX: '100000' }));
const holds = async ({ ops }: WatcherProcess) => (await ops.metric('holders')) === 1;
const isStandby = async ({ ops }: WatcherProcess) => (await ops.check('/readyz', 'role')) === 'standby';

/** Disturbs the holder once there is a standby. Returns how long the log had no new block. */
async function takeOverAfter(disturb: (holder: WatcherProcess) => Promise<void>): Promise<number> {
  let holder: WatcherProcess | undefined;
  await until('one publishes and one is a standby', async () => {
    let hasStandby = false;
    for (const watcher of watchers) {
      if (await holds(watcher)) holder = watcher;
      else if (await isStandby(watcher)) hasStandby = true;
    }
    return holder !== undefined && hasStandby;
  });
  await stage.mine();
  await stage.settled();
  const published = stage.processedBlock();
  await disturb(holder as WatcherProcess);
  // Start the clock now: the holder is gone, and no block is mined before this.
  const atMs = Date.now();
  await until('the other one publishes', async () => {
    await stage.mine();
    return stage.processedBlock() > published;
  });
  return Date.now() - atMs;
}

test('the standby takes over within seconds if the holder is killed, stopped, or frozen for a while', async () => {
  await start();
  await until('the first one publishes', async () => holds([...watchers][0] as WatcherProcess));
  await stage.settled();
  const from = stage.processedBlock();
  await start();
  const afterKill = await takeOverAfter(async (holder) => {
    watchers.delete(holder);
    await holder.kill();
  });
  await start();
  let frozen: WatcherProcess | undefined;
  const afterFreeze = await takeOverAfter(async (holder) => {
    frozen = holder;
    holder.freeze();
  });
  await stage.mine(3);
  frozen?.goOn();
  await stage.mine(3);
  await until('it is a standby', () => isStandby(frozen as WatcherProcess));
  const afterStop = await takeOverAfter(async (holder) => {
    watchers.delete(holder);
    void holder.terminate();
    await until('it has resigned', () => stage.facts.some(({ fact }) => fact.type === 'WatcherResigned'));
  });
  await stage.mine(10);
  await stage.settled();
  // Allow many times the targets (5 s, and at once), because the machine may be slow.
  expect(Math.max(afterKill, afterFreeze)).toBeLessThan(90_000);
  expect(afterStop).toBeLessThan(15_000);

  const wanted = Array.from({ length: stage.processedBlock() - from + 1 }, (_, n) => from + n);
  for (let partition = 0; partition < PARTITIONS; partition += 1) {
    const blocks = stage.facts.flatMap(({ fact, partition: at }) =>
      at === partition && fact.type === 'BlockProcessed' && fact.block.number >= from ? [fact.block.number] : [],
    );
    expect(blocks).toEqual([...blocks].sort((a, b) => a - b));
    expect([...new Set(blocks)]).toEqual(wanted);
  }
});
