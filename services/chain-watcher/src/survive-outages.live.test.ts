import { beforeEach, describe, expect, test } from '@jest/globals';
import { deployArtifacts } from '@makerbook/contracts-evm';
import type { Address, Hex } from '@makerbook/contracts-primitives';
import { openTcpGate, type StrictNode, testParts, until } from '@makerbook/parts';
import { type Logger, silentLogger } from '@makerbook/telemetry';
import type { NonceManager } from 'ethers';
import type { Watcher } from './run.js';
import { opsAt } from './testing/ask-ops.js';
import { eachOnAStage } from './testing/each-on-a-stage.js';
import { addressOf, type Stage } from './testing/stage-chain.js';

const ERC20 = deployArtifacts.TestToken.abi;

let stage: Stage;
let maker: NonceManager;
let token: Address;
/** The watcher prefers this node to the stage's. */
let node: StrictNode;

const { watch, run, openGate, openNode } = eachOnAStage(
  (own) => {
    stage = own;
  },
  async (chain) => {
    token = await chain.deploy(deployArtifacts.TestToken, 'Making', 'MAK', 18);
    maker = await chain.createAccount();
  },
);
beforeEach(async () => {
  node = await openNode();
});

const approve = (amount: bigint) => stage.send(maker, token, ERC20, 'approve', stage.protocolAddress, amount);
const mint = (amount: bigint) => stage.send(stage.taker, token, ERC20, 'mint', addressOf(maker), amount);
const post = async (amount: bigint): Promise<Hex> =>
  stage.submit(await stage.sign(maker, { making: { token, amount } }));
const reaches = (orderHash: Hex, status: string) =>
  until(`${orderHash} is ${status}`, () => stage.state(orderHash)?.status === status);
const statusOf = async ({ opsPort }: Watcher) => (await opsAt(opsPort).ask('/readyz')).status;
const saysSo = ({ opsPort }: Watcher) =>
  until('readiness says so', async () => /503/.test(await opsAt(opsPort).check('/readyz', 'dependencies')));
describe('while all nodes are down', () => {
  test('nothing is published and readiness says why; afterwards nothing was missed', async () => {
    const watcher = await watch({ RPC_URL: node.url });
    const orderHash = await post(10n);
    await reaches(orderHash, 'INACTIVE');
    await stage.settled();
    await until('it is ready', async () => (await statusOf(watcher)) === 200);
    node.tell({ status: 503 });
    const before = stage.processedBlock();
    await mint(10n);
    await approve(10n);
    const late = await post(9n);
    await saysSo(watcher);
    expect(await statusOf(watcher)).toBe(503);
    expect((await opsAt(watcher.opsPort).ask('/livez')).status).toBe(200);
    expect(stage.processedBlock()).toBe(before);
    // The order may have been cancelled or filled before, and no node can tell.
    await reaches(late, 'VALIDATING');
    node.tell({});
    await reaches(orderHash, 'ACTIVE');
    await reaches(late, 'ACTIVE');
    await stage.settled();
    await until('it is ready again', async () => (await statusOf(watcher)) === 200);
  });

  test('from the start, the watcher waits for them', async () => {
    node.tell({ status: 503 });
    const watcher = await watch({ RPC_URL: node.url });
    await saysSo(watcher);
    await stage.mine();
    node.tell({});
    await stage.settled();
  });
});

test.each([
  ['a third one announces blocks', true, '600000'],
  ['another one goes on in silence', false, '1000'],
])(
  'a preferred node without new blocks is passed over while %s, and used again when it has some',
  async (_what, hears, silenceMsMax) => {
    let given = 0;
    const gate = await openGate(async (calls, forward) => {
      const answers = await forward(calls);
      if (calls[0]?.method === 'eth_getBlockByNumber' && answers[0]?.result !== null) given += 1;
      return answers;
    }, node.url);
    const lags: object[] = [];
    const logger: Logger = { ...silentLogger, warn: (fields) => 'otherEndpoint' in fields && lags.push(fields) };
    const settings = {
      RPC_URL: `${gate.url},${stage.anvil.rpcUrl}`,
      RPC_WS_URL: hears ? stage.anvil.wsUrl : '',
      NODE_SILENCE_MS_MAX: silenceMsMax,
      POLL_INTERVAL_MS: '100',
    };
    await watch(settings, logger);
    const orderHash = await post(20n);
    await stage.settled();
    await approve(20n);
    await stage.settled();
    const frozenAt = await stage.provider.getBlockNumber();
    node.tell({ frozenAt });
    await mint(20n);
    const startedAtMs = Date.now();
    await reaches(orderHash, 'ACTIVE');
    expect(Date.now() - startedAtMs).toBeLessThan(120_000);
    for (let n = 0; n < 3; n += 1) {
      await stage.mine();
      await stage.settled();
    }
    const head = { headNumber: frozenAt, otherEndpoint: new URL(stage.anvil.rpcUrl).host };
    expect(lags).toEqual([expect.objectContaining({ endpoint: new URL(gate.url).host, ...head })]);
    node.tell({});
    const before = given;
    await until('it gives blocks again', async () => {
      await stage.mine();
      await stage.settled();
      return given > before;
    });
  },
);

test.each(['120', '0'])(
  'a watcher that starts passes over a preferred node behind the log, with CATCH_UP_BLOCKS_MAX=%s',
  async (blocksMax) => {
    const settings = { RPC_URL: `${node.url},${stage.anvil.rpcUrl}`, CATCH_UP_BLOCKS_MAX: blocksMax };
    const watcher = await watch(settings);
    await stage.settled();
    node.tell({ frozenAt: (await stage.provider.getBlockNumber()) - 1 });
    await watcher.stop();
    await watch(settings);
    await stage.mine();
    await stage.settled();
  },
);

test('a watcher that starts while Kafka is down is alive and not ready, and begins once Kafka is back', async () => {
  const gate = await openTcpGate(`kafka://${testParts().kafkaBrokers}`);
  try {
    await gate.shut();
    const { ops, countLines } = await run({ KAFKA_BROKERS: new URL(gate.url).host });
    await until('readiness says so', async () => /no broker/.test(await ops.check('/readyz', 'start')));
    expect((await ops.ask('/livez')).status).toBe(200);
    expect((await ops.ask('/readyz')).status).toBe(503);
    expect(countLines('a dependency is down')).toBe(1);
    await gate.open();
    await until('it is ready', async () => (await ops.ask('/readyz')).status === 200);
    await stage.settled();
  } finally {
    await gate.close();
  }
});
