import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { deployArtifacts } from '@makerbook/contracts-evm';
import { connectPostgres } from '@makerbook/postgres';
import { runObservedWatcher } from './testing/run-watcher.js';
import { Stage, until } from './testing/stage-chain.js';

type Observed = Awaited<ReturnType<typeof runObservedWatcher>>;

let stage: Stage;
let watcher: Observed | undefined;

beforeEach(async () => {
  stage = await Stage.open();
});
afterEach(async () => {
  await watcher?.kill();
  watcher = undefined;
  await stage.close();
});

const run = async (settings: Record<string, string>) => {
  watcher = await runObservedWatcher(stage, settings);
  return watcher;
};
const hasHalted = (of: Observed) =>
  until('a scrape sees the halt', async () => (await of.ops.metric('halts_total')) === 1);
const millisecondsOf = async (work: () => Promise<unknown>) => {
  const startedAtMs = Date.now();
  await work();
  return Date.now() - startedAtMs;
};

describe('a watcher that has halted', () => {
  test('stays for scrapes and says why, publishes nothing, is not to be restarted, and ends with 1 on SIGTERM', async () => {
    const halted = await run({ HALT_LINGER_MS: '600000' });
    const { ops, exited, terminate } = halted;
    const token = await stage.deploy(deployArtifacts.TestToken, 'Making', 'MAK', 18);
    const maker = await stage.createAccount();
    await stage.submit(await stage.sign(maker, { making: { token, amount: 1n } }));
    await stage.settled();
    expect(await ops.metric('halts_total')).toBe(0);
    const fork = await stage.provider.send('evm_snapshot', []);
    await stage.mine(3);
    await stage.settled();
    await stage.provider.send('evm_revert', [fork]);
    await stage.provider.send('evm_increaseTime', [1000]);
    await stage.mine(4);
    await hasHalted(halted);

    const published = stage.facts.length;
    await stage.submit(await stage.sign(maker, { making: { token, amount: 2n } }));
    await until('the order is in the log', () => stage.facts.length > published);
    await stage.mine(2);
    await new Promise((resolve) => setTimeout(resolve, 1000));
    expect(stage.facts.slice(published).map(({ fact }) => fact.type)).toEqual(['OrderSubmitted']);
    expect((await ops.ask('/readyz')).status).toBe(503);
    expect(await ops.check('/readyz', 'position')).toMatch(/^halted: .*reorganisation/);
    expect((await ops.ask('/livez')).status).toBe(200);
    expect(await ops.metric('halts_total')).toBe(1);

    expect(await millisecondsOf(terminate)).toBeLessThan(20_000);
    const { code, stdout, stderr } = await exited;
    expect(code).toBe(1);
    expect(stdout.match(/the watcher halts: see/g)).toHaveLength(1);
    expect(stderr).toMatch(/reorganisation of final blocks/);
  });

  test('ends with 1 by itself after HALT_LINGER_MS', async () => {
    const halted = await run({ CHAIN_ID: '1001', HALT_LINGER_MS: '6000' });
    const { ops, exited } = halted;
    await hasHalted(halted);
    expect(await millisecondsOf(() => exited)).toBeGreaterThan(1000);
    expect((await exited).code).toBe(1);
    expect((await ops.ask('/metrics')).status).toBe(0);
  });

  test('has published nothing of a block that is too far ahead of its clock, and says what another node has', async () => {
    const { rpcUrl } = stage.anvil;
    // The same chain by another name.
    const urls = [rpcUrl, rpcUrl.replace('127.0.0.1', 'localhost')].join();
    const halted = await run({ RPC_URL: urls, BLOCK_AHEAD_SECONDS_MAX: '60', HALT_LINGER_MS: '600000' });
    await stage.settled();
    const token = await stage.deploy(deployArtifacts.TestToken, 'Making', 'MAK', 18);
    const soon = BigInt(Math.floor(Date.now() / 1000) + 5_000);
    const maker = await stage.createAccount();
    const order = await stage.submit(await stage.sign(maker, { making: { token, amount: 1n }, expiresAt: soon }));
    await until('the order is read', () => stage.state(order)?.status === 'INACTIVE');
    await stage.settled();
    const published = stage.processedBlock();
    await stage.provider.send('evm_increaseTime', [10_000]);
    await stage.mine();
    await hasHalted(halted);
    expect(await halted.ops.check('/readyz', 'position')).toMatch(
      /^halted: block \d+ .* s ahead of this machine's clock, and 60 s are allowed: 127.0.0.1:\d+ has the same block; localhost:\d+ has the same block\. Nothing/,
    );
    expect(stage.processedBlock()).toBe(published);
    expect(stage.state(order)?.status).toBe('INACTIVE');
    await halted.terminate();
    expect((await halted.exited).code).toBe(1);
  });

  test('is counted, too, where the rows are of another log', async () => {
    const postgres = connectPostgres({ url: stage.databaseUrl });
    await postgres.query('insert into projections (partition, next_offset) values (0, 1000)');
    await postgres.close();
    const halted = await run({ HALT_LINGER_MS: '600000' });
    const { ops, terminate, exited } = halted;
    await hasHalted(halted);
    expect(await ops.check('/readyz', 'position')).toMatch(/it belongs to another log/);
    await terminate();
    expect((await exited).code).toBe(1);
    expect(stage.facts).toEqual([]);
  });
});
