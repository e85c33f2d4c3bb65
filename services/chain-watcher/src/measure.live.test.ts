import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { deployArtifacts } from '@makerbook/contracts-evm';
import type { Ops } from './testing/ask-ops.js';
import { type Gate, startGate } from './testing/gate-node.js';
import { runObservedWatcher, type WatcherProcess } from './testing/run-watcher.js';
import { Stage, until } from './testing/stage-chain.js';

let stage: Stage;
let watcher: WatcherProcess | undefined;
let gate: Gate | undefined;

beforeEach(async () => {
  stage = await Stage.open();
});
afterEach(async () => {
  await watcher?.kill();
  watcher = undefined;
  await gate?.close();
  gate = undefined;
  await stage.close();
});

const run = async (settings: Record<string, string>): Promise<Ops> => {
  const observed = await runObservedWatcher(stage, settings);
  watcher = observed;
  return observed.ops;
};

/** Names and units of the README's table. */
const described = (): Map<string, string> => {
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
  const rows = [...readme.matchAll(/^\| `(chain_watcher_\w+)` \| (\w+)/gm)];
  return new Map(rows.map(([, name = '', unit = '']) => [name, unit]));
};

/** Names and units of a scrape, without what the exporter says of the process. */
const shown = (scrape: string): Map<string, string | undefined> => {
  const units = new Map([...scrape.matchAll(/^# UNIT (\w+) (.+)$/gm)].map(([, name = '', unit]) => [name, unit]));
  const names = [...scrape.matchAll(/^# TYPE (\w+) /gm)].map(([, name = '']) => name);
  return new Map(names.filter((name) => name !== 'target_info').map((name) => [name, units.get(name)]));
};

describe('the metrics of a running watcher', () => {
  test('are there from the start, but for the histogram, though nothing has happened: 0, or the time since then', async () => {
    const ops = await run({
      RPC_URL: 'http://user:password@127.0.0.1:9/v1/the-key-of-this-endpoint',
      SWEEP_PAIRS_PER_SECOND: '20',
    });
    await until('a scrape is answered', async () => (await ops.ask('/metrics')).status === 200);
    const { text } = await ops.ask('/metrics');
    const expected = described();
    expect(expected.size).toBeGreaterThan(30);
    expected.delete('chain_watcher_block_duration_seconds');
    expect(shown(text)).toEqual(expected);
    for (const series of [
      'halts_total',
      'blocks_total',
      'subscription_breaks_total',
      'topic_gap_blocks_total',
      'unreadable_values_total{what="allowance"}',
      'unreadable_values_total{what="balance"}',
      'partition_wait_seconds{partition="2"}',
      'head_block_number',
      'open_subscriptions',
      'unread_order_age_seconds',
      'catch_up_ratio',
    ]) {
      expect({ series, value: await ops.metric(series) }).toEqual({ series, value: 0 });
    }
    const ages = async () => [await ops.metric('lag_seconds'), await ops.metric('sweep_age_seconds')];
    const [lag = Number.NaN, sweepAge = Number.NaN] = await ages();
    await until('the ages grow', async () => {
      const [laterLag = 0, laterSweepAge = 0] = await ages();
      return laterLag > lag && laterSweepAge > sweepAge;
    });
    // Each try to reach the node is a turn.
    await until('the loop turns', async () => (await ops.metric('loop_age_seconds')) < lag);
    await until('the failures are told', async () => {
      return (await ops.metric('rpc_failures_total{endpoint="127.0.0.1:9"}')) > 0;
    });
    expect((await ops.ask('/metrics')).text).not.toMatch(/password|the-key/);
  });

  test('are those of the README with their units, and tell what it does', async () => {
    let isOpen = true;
    const held: (() => void)[] = [];
    gate = await startGate(stage.anvil.rpcUrl, async (calls) => {
      if (isOpen || calls.every(({ method }) => method !== 'eth_call')) return undefined;
      await new Promise<void>((resolve) => held.push(resolve));
      return undefined;
    });
    const token = await stage.deploy(deployArtifacts.TestToken, 'Making', 'MAK', 18);
    const maker = await stage.createAccount();
    const post = async () => stage.submit(await stage.sign(maker, { making: { token, amount: 1n } }));
    const ops = await run({ RPC_URL: gate.url, RPC_WS_URL: stage.anvil.wsUrl, RPC_TIMEOUT_MS: '60000' });
    const reaches = (series: string, holds: (value: number) => boolean) =>
      until(`${series} is as expected`, async () => holds(await ops.metric(series)));
    await post();
    await stage.settled();
    await stage.mine();
    await stage.settled();
    const head = await stage.provider.getBlockNumber();
    await reaches('processed_block_number', (number) => number === head);
    await reaches('open_subscriptions', (open) => open === 1);
    await reaches('catch_up_ratio', (ratio) => ratio === 1);
    expect(shown((await ops.ask('/metrics')).text)).toEqual(described());
    expect(await ops.metric('head_block_number')).toBe(head);
    expect(await ops.metric('lag_blocks')).toBe(0);
    expect(await ops.metric('block_duration_seconds_count')).toBeGreaterThan(0);
    expect(await ops.metric('block_duration_seconds_sum')).toBeLessThan(60);
    for (const series of ['open_orders', 'watched_pairs', 'watched_makers', 'known_hashes']) {
      expect({ series, value: await ops.metric(series) }).toEqual({ series, value: 1 });
    }
    expect(await ops.metric('unread_orders')).toBe(0);

    isOpen = false;
    await post();
    await reaches('unread_orders', (orders) => orders === 1);
    await reaches('unread_order_age_seconds', (age) => age > 1.5);
    isOpen = true;
    for (const resolve of held.splice(0)) resolve();
    await reaches('unread_orders', (orders) => orders === 0);
    expect(await ops.metric('unread_order_age_seconds')).toBe(0);

    await gate.close();
    gate = undefined;
    await stage.anvil.stop();
    await reaches('open_subscriptions', (open) => open === 0);
    await reaches('subscription_breaks_total', (breaks) => breaks > 0);
  });
});
