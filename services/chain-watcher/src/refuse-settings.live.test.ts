import { expect, test } from '@jest/globals';
import { ZERO_ADDRESS } from '@makerbook/contracts-primitives';
import { until } from '@makerbook/parts';
import type { Logger } from '@makerbook/telemetry';
import { opsAt } from './testing/ask-ops.js';
import { eachOnAStage } from './testing/each-on-a-stage.js';
import type { Stage } from './testing/stage-chain.js';

let stage: Stage;
const { watch } = eachOnAStage((own) => {
  stage = own;
});

test.each(['MULTICALL_ADDRESS', 'LIMIT_ORDER_PROTOCOL_ADDRESS'])(
  'if there is no contract at %s, readiness names it, and nothing is published',
  async (name) => {
    const nobody = `0x${'12'.repeat(20)}`;
    const ops = opsAt((await watch({ [name]: nobody })).opsPort);
    await until('readiness says so', async () => {
      const why = await ops.check('/readyz', 'dependencies');
      return why.includes(`no contract at ${name}=${nobody}`);
    });
    await stage.mine(2);
    expect((await ops.ask('/readyz')).status).toBe(503);
    expect((await ops.ask('/livez')).status).toBe(200);
    expect(stage.facts).toEqual([]);
  },
);

test.each<[string, () => Promise<Record<string, string>>, RegExp]>([
  [
    'as its topics are missing',
    async () => ({ TOPIC_PREFIX: `${stage.prefix}nowhere.` }),
    /topic \S+nowhere\.limit-orders\.maker-events\.v1 is missing.* Create missing topics with /,
  ],
  [
    'as its topics have other partitions',
    async () => ({ PARTITIONS: '4' }),
    /topic \S+\.limit-orders\.maker-events\.v1 has 3 partitions, expected 4 \(PARTITIONS\)/,
  ],
  [
    'as the topic of the Kaia node is missing',
    async () => ({ KAIA_TOPIC: `${stage.prefix}blockgroup.v1` }),
    /topic \S+\.blockgroup\.v1 is missing/,
  ],
])('a start that fails %s says so', async (_what, settings, sentence) => {
  await expect(stage.watch(await settings())).rejects.toThrow(sentence);
  expect(stage.facts).toEqual([]);
});

test('without a protocol address the watcher says so once, and orders stay VALIDATING until they expire', async () => {
  const said: string[] = [];
  const tell = (_fields: object, text?: string) => void said.push(text ?? '');
  const logger: Logger = { debug: tell, info: tell, warn: tell, error: tell };
  await watch({ LIMIT_ORDER_PROTOCOL_ADDRESS: ZERO_ADDRESS }, logger);
  const newest = await stage.provider.getBlock('latest');
  const maker = await stage.createAccount();
  const making = { token: `0x${'b1'.repeat(20)}`, amount: 1n } as const;
  const soon = BigInt((newest?.timestamp ?? 0) + 3600);
  const expiring = await stage.submit(await stage.sign(maker, { making, expiresAt: soon }));
  const lasting = await stage.submit(await stage.sign(maker, { making }));
  await stage.mine(3);
  await stage.settled();
  expect(stage.state(expiring)).toEqual({ status: 'VALIDATING' });
  await stage.provider.send('evm_increaseTime', [4000]);
  await stage.mine(2);
  await stage.settled();
  expect(stage.state(expiring)).toEqual({ status: 'REMOVED', reason: 'EXPIRED' });
  expect(stage.state(lasting)).toEqual({ status: 'VALIDATING' });
  expect(new Set(stage.facts.map(({ fact }) => fact.type))).toEqual(new Set(['OrderSubmitted', 'BlockProcessed']));
  expect(said.filter((text) => text.startsWith('LIMIT_ORDER_PROTOCOL_ADDRESS is zero'))).toHaveLength(1);
});
