import { isDeepStrictEqual } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import { topicNames } from '@makerbook/contracts-events';
import { deployArtifacts } from '@makerbook/contracts-evm';
import { type Misbehaviour, until } from '@makerbook/parts';
import { eachOnAStage } from './testing/each-on-a-stage.js';
import { addressOf, type Stage } from './testing/stage-chain.js';

let stage: Stage;
const { run, openGate, holdCalls } = eachOnAStage((own) => {
  stage = own;
});

describe('the metrics of a running watcher', () => {
  test('exist before anything has happened: as 0, or as the time since the start', async () => {
    const { ops } = await run({
      RPC_URL: 'http://user:password@127.0.0.1:9/v1/the-key-of-this-endpoint',
      SWEEP_PAIRS_PER_SECOND: '20',
    });
    await until('a scrape is answered', async () => (await ops.ask('/metrics')).status === 200);
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
      'topic_silence_seconds',
      'unread_order_age_seconds',
      'holders',
      'sweep_age_seconds',
    ]) {
      expect({ series, value: await ops.metric(series) }).toEqual({ series, value: 0 });
    }
    const lag = await ops.metric('lag_seconds');
    await until('the age grows', async () => (await ops.metric('lag_seconds')) > lag);
    await until('the failures are counted', async () => {
      return (await ops.metric('rpc_failures_total{endpoint="127.0.0.1:9"}')) > 0;
    });
    expect((await ops.ask('/metrics')).text).not.toMatch(/password|the-key/);
  });

  test('count what was published, found, asked and refused, and what could not be read', async () => {
    const seen = { requests: 0, calls: 0, refusals: 0 };
    /** How the preferred node answers the next request for logs; undefined: correctly. */
    let misbehave: Misbehaviour | undefined;
    const counted =
      (isPreferred: boolean): Misbehaviour =>
      async (calls, forward) => {
        seen.requests += 1;
        seen.calls += calls.length;
        let answer: Misbehaviour = (all) => forward(all);
        if (isPreferred && misbehave !== undefined && calls.some(({ method }) => method === 'eth_getLogs')) {
          answer = misbehave;
          misbehave = undefined;
        }
        const answers = await answer(calls, forward);
        if (!('status' in answers)) seen.refusals += answers.filter(({ error }) => error !== undefined).length;
        return answers;
      };
    const [preferred, spare] = [(await openGate(counted(true))).url, (await openGate(counted(false))).url];
    const topic = `${stage.prefix}klaytn.chaindatafetcher.en-0.blockgroup.v1`;
    await stage.log.createTopics([{ name: topic, partitions: 1, replicationFactor: 1, config: {} }]);
    const maker = await stage.createAccount();
    const { IllBehavedToken, RebasingToken } = deployArtifacts;
    const openOrder = async (artifact: typeof IllBehavedToken) => {
      const token = await stage.deploy(artifact, 'Making', 'MAK', 18);
      await stage.send(maker, token, artifact.abi, 'mint', addressOf(maker), 1000n);
      await stage.send(maker, token, artifact.abi, 'approve', stage.protocolAddress, 1000n);
      return { token, signed: await stage.sign(maker, { making: { token, amount: 600n } }) };
    };
    const bad = await openOrder(IllBehavedToken);
    const rebasing = await openOrder(RebasingToken);
    const { ops } = await run({
      RPC_URL: `${preferred},${spare}`,
      RPC_TIMEOUT_MS: '60000',
      POLL_INTERVAL_MS: '200',
      SWEEP_PAIRS_PER_SECOND: '100',
      KAIA_TOPIC: topic,
      KAIA_SILENCE_MS_MAX: '200',
      NODE_SILENCE_MS_MAX: '600000',
    });
    const reaches = ({ signed: { orderHash } }: typeof bad, status: string) =>
      until(`${orderHash} is ${status}`, () => stage.state(orderHash)?.status === status);
    const comesTo = (series: string, expected: number) =>
      until(`${series} is ${expected}`, async () => (await ops.metric(series)) === expected);
    const isAbove0 = (series: string) => until(`${series} is above 0`, async () => (await ops.metric(series)) > 0);

    await stage.settled();
    for (const order of [bad, rebasing]) {
      await stage.submit(order.signed);
      await reaches(order, 'ACTIVE');
    }
    await stage.mine(2);
    await stage.settled();
    const faults: Misbehaviour[] = [
      async (calls) => calls.map(({ id }) => ({ id, error: { code: -32005, message: 'limit exceeded' } })),
      async () => ({ status: 503 }),
    ];
    for (const fault of faults) {
      misbehave = fault;
      await stage.mine();
      await until('the preferred node has misbehaved', () => misbehave === undefined);
      await stage.settled();
    }
    await stage.send(maker, bad.token, IllBehavedToken.abi, 'setBalanceAnswer', 1);
    await stage.send(maker, bad.token, IllBehavedToken.abi, 'approve', stage.protocolAddress, 999n);
    await reaches(bad, 'INACTIVE');
    await stage.send(maker, rebasing.token, RebasingToken.abi, 'setIndex', 5n * 10n ** 17n);
    await reaches(rebasing, 'INACTIVE');
    await stage.settled();

    const inLog = (holds: (fact: (typeof stage.facts)[number]['fact']) => boolean) =>
      stage.facts.filter(({ fact }) => holds(fact)).length;
    const blocks = stage.facts.filter(
      ({ partition, fact }) => partition === 0 && fact.type === 'BlockProcessed',
    ).length;
    await comesTo('blocks_total', blocks);
    // The first block is the head at the start.
    await comesTo('topic_gap_blocks_total', blocks - 1);
    await comesTo(
      'block_facts_total',
      inLog((fact) => 'cause' in fact && fact.cause.kind === 'log'),
    );
    await comesTo(
      'sweep_facts_total',
      inLog((fact) => 'cause' in fact && fact.cause.kind === 'read' && fact.cause.occasion === 'SWEEP'),
    );
    for (const series of ['block_facts_total', 'sweep_facts_total', 'sweep_pairs_total', 'sweep_duration_seconds']) {
      await isAbove0(series);
    }
    expect(await ops.metric('suspect_values')).toBe(1);
    expect(await ops.metric('unreadable_values_total{what="balance"}')).toBeGreaterThan(0);
    expect(await ops.metric('unreadable_values_total{what="allowance"}')).toBe(0);

    expect(await ops.metric('rpc_failovers_total')).toBe(faults.length);
    expect(await ops.metric(`rpc_failures_total{endpoint="${new URL(preferred).host}"}`)).toBe(1);
    expect(await ops.metric(`rpc_failures_total{endpoint="${new URL(spare).host}"}`)).toBe(0);
    await until('requests, calls and refusals are those that the nodes have seen', async () => {
      const before = { ...seen };
      const told = {
        requests: await ops.metric('rpc_requests_total'),
        calls: await ops.metric('rpc_calls_total'),
        refusals: await ops.metric('rpc_refusals_total'),
      };
      return isDeepStrictEqual(told, before) && isDeepStrictEqual(seen, before);
    });
    expect(seen.refusals).toBeGreaterThan(0);

    const records = stage.facts.length;
    await comesTo('log_records_total', records);
    expect(await ops.metric('log_unreadable_records_total')).toBe(0);
    const unreadable = { topic: topicNames(stage.prefix).makerEvents, partition: 0, key: '', headers: {} };
    const appender = stage.log.createAppender({ timeoutMs: 60_000 });
    await appender.append([{ ...unreadable, value: Buffer.from('no fact') }]);
    await comesTo('log_unreadable_records_total', 1);
    await comesTo('log_records_total', records + 1);
  });

  // This test stops the chain.
  test('show its head and lag, what it watches, its unread orders and its subscription', async () => {
    const gate = await holdCalls('eth_call');
    const token = await stage.deploy(deployArtifacts.TestToken, 'Making', 'MAK', 18);
    const maker = await stage.createAccount();
    const post = async () => stage.submit(await stage.sign(maker, { making: { token, amount: 1n } }));
    const { ops } = await run({ RPC_URL: gate.url, RPC_WS_URL: stage.anvil.wsUrl, RPC_TIMEOUT_MS: '60000' });
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
    expect(await ops.metric('head_block_number')).toBe(head);
    expect(await ops.metric('lag_blocks')).toBe(0);
    expect(await ops.metric('block_duration_seconds_count')).toBeGreaterThan(0);
    expect(await ops.metric('block_duration_seconds_sum')).toBeLessThan(60);
    for (const series of ['watched_orders', 'watched_pairs', 'watched_makers', 'holders', 'takeovers_total']) {
      expect({ series, value: await ops.metric(series) }).toEqual({ series, value: 1 });
    }
    expect(await ops.metric('unread_orders')).toBe(0);

    gate.hold();
    await post();
    await reaches('unread_orders', (orders) => orders === 1);
    await reaches('unread_order_age_seconds', (age) => age > 1.5);
    gate.passAll();
    await reaches('unread_orders', (orders) => orders === 0);
    expect(await ops.metric('unread_order_age_seconds')).toBe(0);

    await gate.close();
    await stage.anvil.stop();
    await reaches('open_subscriptions', (open) => open === 0);
    await reaches('subscription_breaks_total', (breaks) => breaks > 0);
  });
});
