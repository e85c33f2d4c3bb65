import { beforeEach, describe, expect, test } from '@jest/globals';
import { deployArtifacts } from '@makerbook/contracts-evm';
import type { Address, Hex } from '@makerbook/contracts-primitives';
import { freezeAt, type Misbehaviour, until } from '@makerbook/parts';
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
let gateUrl: string;
let behaviour: Misbehaviour;

const isOpen: Misbehaviour = (calls, forward) => forward(calls);
const isClosed: Misbehaviour = async () => ({ status: 503 });

const { watch, openGate } = eachOnAStage(
  (own) => {
    stage = own;
  },
  async (chain) => {
    token = await chain.deploy(deployArtifacts.TestToken, 'Making', 'MAK', 18);
    maker = await chain.createAccount();
  },
);
beforeEach(async () => {
  behaviour = isOpen;
  gateUrl = (await openGate((calls, forward) => behaviour(calls, forward))).url;
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
/** Mines a block: whether it is published within two seconds. */
const isFoundSoon = async (): Promise<boolean> => {
  await stage.mine();
  const head = await stage.provider.getBlockNumber();
  const deadline = Date.now() + 2000;
  while (stage.processedBlock() < head && Date.now() < deadline)
    await new Promise((resolve) => setTimeout(resolve, 10));
  return stage.processedBlock() >= head;
};

describe('while all nodes are away', () => {
  test('nothing is published and readiness says why; afterwards nothing was missed', async () => {
    const watcher = await watch({ RPC_URL: gateUrl });
    const orderHash = await post(10n);
    await reaches(orderHash, 'INACTIVE');
    await stage.settled();
    await until('it is ready', async () => (await statusOf(watcher)) === 200);
    behaviour = isClosed;
    const before = stage.processedBlock();
    await mint(10n);
    await approve(10n);
    const late = await post(9n);
    await saysSo(watcher);
    expect(await statusOf(watcher)).toBe(503);
    expect((await opsAt(watcher.opsPort).ask('/livez')).status).toBe(200);
    expect(stage.processedBlock()).toBe(before);
    // It may have been cancelled or filled before: nobody can tell.
    await reaches(late, 'VALIDATING');
    behaviour = isOpen;
    await reaches(orderHash, 'ACTIVE');
    await reaches(late, 'ACTIVE');
    await stage.settled();
    await until('it is ready again', async () => (await statusOf(watcher)) === 200);
  });

  test('from the start, the watcher waits for them', async () => {
    behaviour = isClosed;
    const watcher = await watch({ RPC_URL: gateUrl });
    await saysSo(watcher);
    await stage.mine();
    behaviour = isOpen;
    await stage.settled();
  });
});

test.each([
  ['a third one announces blocks', true, '600000'],
  ['another one goes on in silence', false, '1000'],
])(
  'a preferred node that answers but has no new blocks is passed over within seconds, while %s, and used again when it goes on',
  async (_what, hears, silenceMsMax) => {
    const lags: object[] = [];
    const logger: Logger = { ...silentLogger, warn: (fields) => 'otherEndpoint' in fields && lags.push(fields) };
    const settings = {
      RPC_URL: `${gateUrl},${stage.anvil.rpcUrl}`,
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
    behaviour = freezeAt(frozenAt);
    await mint(20n);
    const startedAtMs = Date.now();
    await reaches(orderHash, 'ACTIVE');
    expect(Date.now() - startedAtMs).toBeLessThan(45_000);
    for (let n = 0; n < 3; n += 1) {
      await stage.mine();
      await stage.settled();
    }
    const head = { headNumber: frozenAt, otherEndpoint: new URL(stage.anvil.rpcUrl).host };
    expect(lags).toEqual([expect.objectContaining({ endpoint: new URL(gateUrl).host, ...head })]);
    let given = 0;
    behaviour = async (calls, forward) => {
      const answers = await forward(calls);
      if (calls[0]?.method === 'eth_getBlockByNumber' && answers[0]?.result !== null) given += 1;
      return answers;
    };
    await until('it gives blocks again', async () => {
      await stage.mine();
      await stage.settled();
      return given > 0;
    });
  },
);

test.each(['120', '0'])(
  'a preferred node that stays behind what is published is passed over by a watcher that starts, with CATCH_UP_BLOCKS_MAX=%s',
  async (blocksMax) => {
    const settings = { RPC_URL: `${gateUrl},${stage.anvil.rpcUrl}`, CATCH_UP_BLOCKS_MAX: blocksMax };
    const watcher = await watch(settings);
    await stage.settled();
    behaviour = freezeAt((await stage.provider.getBlockNumber()) - 1);
    await watcher.stop();
    await watch(settings);
    await stage.mine();
    await stage.settled();
  },
);

test('a node that announces its blocks is followed at once, though polling is slow', async () => {
  await watch({ RPC_WS_URL: stage.anvil.wsUrl, POLL_INTERVAL_MS: '600000' });
  await stage.settled();
  await until('the subscription stands', isFoundSoon);
  for (let n = 0; n < 5; n += 1) {
    await stage.mine();
    await stage.settled();
  }
});
