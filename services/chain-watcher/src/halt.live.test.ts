import { describe, expect, test } from '@jest/globals';
import { deployArtifacts } from '@makerbook/contracts-evm';
import { until } from '@makerbook/parts';
import { connectPostgres } from '@makerbook/postgres';
import { eachOnAStage } from './testing/each-on-a-stage.js';
import type { WatcherProcess } from './testing/run-watcher.js';
import { addressOf, type Stage } from './testing/stage-chain.js';

let stage: Stage;
const { watch, run } = eachOnAStage((own) => {
  stage = own;
});

const hasHalted = (of: WatcherProcess) =>
  until('a scrape sees the halt', async () => (await of.ops.metric('halts_total')) === 1);
const millisecondsOf = async (work: () => Promise<unknown>) => {
  const startedAtMs = Date.now();
  await work();
  return Date.now() - startedAtMs;
};

describe('a watcher that has halted', () => {
  test('can be scraped, says why, publishes nothing, exits 1 on SIGTERM, and halts again when restarted', async () => {
    const halted = await run({ HALT_LINGER_MS: '600000' });
    const { ops, exited, terminate } = halted;
    const token = await stage.deploy(deployArtifacts.TestToken, 'Making', 'MAK', 18);
    const maker = await stage.createAccount();
    const order = await stage.submit(await stage.sign(maker, { making: { token, amount: 1n } }));
    await until('the order is read', () => stage.state(order)?.status === 'INACTIVE');
    await stage.settled();
    expect(await ops.metric('halts_total')).toBe(0);
    const fork = await stage.provider.send('evm_snapshot', []);
    await stage.mine(3);
    await stage.settled();
    const published = stage.facts.length;
    await stage.provider.send('evm_revert', [fork]);
    await stage.provider.send('evm_increaseTime', [1000]);
    await stage.mine(3);
    // The first block that the watcher has not seen changes what the maker has.
    await stage.send(stage.taker, token, deployArtifacts.TestToken.abi, 'mint', addressOf(maker), 1n);
    await hasHalted(halted);

    await stage.submit(await stage.sign(maker, { making: { token, amount: 2n } }));
    await until('the order is in the log', () => stage.facts.length > published);
    await stage.mine(2);
    await new Promise((resolve) => setTimeout(resolve, 1000));
    const since = () => stage.facts.slice(published).map(({ fact }) => fact.type);
    expect(since()).toEqual(['OrderSubmitted']);
    expect((await ops.ask('/readyz')).status).toBe(503);
    expect(await ops.check('/readyz', 'position')).toMatch(/^halted: .*reorganisation/);
    expect((await ops.ask('/livez')).status).toBe(200);
    expect(await ops.metric('halts_total')).toBe(1);

    expect(await millisecondsOf(terminate)).toBeLessThan(20_000);
    const { code, stdout, stderr } = await exited;
    expect(code).toBe(1);
    expect(stdout.match(/the watcher halts: see/g)).toHaveLength(1);
    expect(stderr).toMatch(/reorganisation of final blocks/);
    expect((await (await watch()).failed).message).toMatch(/was published/);
    expect(since()).toEqual(['OrderSubmitted']);
  });

  test('over a wrong CHAIN_ID names both ids, publishes nothing, and exits with 1 after HALT_LINGER_MS', async () => {
    const halted = await run({ CHAIN_ID: '1001', HALT_LINGER_MS: '6000' });
    await hasHalted(halted);
    expect(await millisecondsOf(() => halted.exited)).toBeGreaterThan(1000);
    const { code, stderr, stdout } = await halted.exited;
    expect(code).toBe(1);
    expect(stderr + stdout).toMatch(/has chain id 8217, not CHAIN_ID=1001/);
    expect((await halted.ops.ask('/metrics')).status).toBe(0);
    expect(stage.facts).toEqual([]);
  });

  test('has published nothing if the rows belong to another log', async () => {
    const postgres = connectPostgres({ url: stage.databaseUrl, connectTimeoutMs: 60_000 });
    await postgres.query('insert into projections (partition, next_offset) values (0, 1000)');
    await postgres.close();
    expect((await (await watch()).failed).message).toMatch(/the projection belongs to another log/);
    expect(stage.facts).toEqual([]);
  });
});
