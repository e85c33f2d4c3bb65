import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { opsAt } from './testing/ask-ops.js';
import { runWatcherProcess } from './testing/run-watcher.js';
import { Stage, until } from './testing/stage-chain.js';

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(() => stage.close());

describe('settings that do not fit the chain', () => {
  test('another CHAIN_ID halts it with exit code 1, names both, and publishes nothing', async () => {
    const { code, stderr, stdout } = await runWatcherProcess(stage, { CHAIN_ID: '1001' }).exited;
    expect(code).toBe(1);
    expect(stderr + stdout).toMatch(/has chain id 8217, not CHAIN_ID=1001/);
    expect(stage.facts).toEqual([]);
  });

  test.each(['MULTICALL_ADDRESS', 'LIMIT_ORDER_PROTOCOL_ADDRESS'])(
    'no contract at %s: readiness names it, and nothing is published',
    async (name) => {
      const nobody = `0x${'12'.repeat(20)}`;
      const watcher = await stage.watch({ [name]: nobody });
      try {
        const ops = opsAt(watcher.opsPort);
        await until('readiness says so', async () => {
          const why = await ops.check('/readyz', 'dependencies');
          return why.includes(`no contract at ${name}=${nobody}`);
        });
        await stage.mine(2);
        expect((await ops.ask('/readyz')).status).toBe(503);
        expect((await ops.ask('/livez')).status).toBe(200);
        expect(stage.facts).toEqual([]);
      } finally {
        await watcher.stop();
      }
    },
  );
});
