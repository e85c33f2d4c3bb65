import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { deployArtifacts } from '@makerbook/contracts-evm';
import type { Address, Hex } from '@makerbook/contracts-primitives';
import { startAnvil } from '@makerbook/parts';
import { type Logger, silentLogger } from '@makerbook/telemetry';
import type { NonceManager } from 'ethers';
import type { Watcher } from './run.js';
import { opsAt } from './testing/ask-ops.js';
import { freezeAt, type Gate, type Misbehaviour, refuse, startMisbehavingNode } from './testing/gate-node.js';
import { addressOf, Stage, until } from './testing/stage-chain.js';

const ERC20 = deployArtifacts.TestToken.abi;

let stage: Stage;
let maker: NonceManager;
let token: Address;
let watcher: Watcher | undefined;
let gate: Gate;
let gateUrl: string;
let behaviour: Misbehaviour;
let requests = 0;
/** The resources that a test has opened. */
let closing: (() => Promise<void>)[] = [];

const isOpen: Misbehaviour = (calls, forward) => forward(calls);
const isClosed: Misbehaviour = async () => ({ status: 503 });

beforeAll(async () => {
  stage = await Stage.open();
  token = await stage.deploy(deployArtifacts.TestToken, 'Making', 'MAK', 18);
  maker = await stage.createAccount();
  gate = await startMisbehavingNode(stage.anvil.rpcUrl, (calls, forward) => {
    requests += 1;
    return behaviour(calls, forward);
  });
  gateUrl = gate.url;
});
beforeEach(() => {
  behaviour = isOpen;
  requests = 0;
});
afterEach(async () => {
  await watcher?.stop();
  watcher = undefined;
  for (const close of closing) await close();
  closing = [];
});
afterAll(async () => {
  await gate.close();
  await stage.close();
});

const approve = (amount: bigint) => stage.send(maker, token, ERC20, 'approve', stage.protocolAddress, amount);
const mint = (amount: bigint) => stage.send(stage.taker, token, ERC20, 'mint', addressOf(maker), amount);
const post = async (amount: bigint): Promise<Hex> =>
  stage.submit(await stage.sign(maker, { making: { token, amount } }));
const reaches = (orderHash: Hex, status: string) =>
  until(`${orderHash} is ${status}`, () => stage.state(orderHash)?.status === status);
const ready = async () => {
  const { status, text } = await opsAt(watcher?.opsPort ?? 0).ask('/readyz');
  return { status, checks: (JSON.parse(text) as { checks: Record<string, string> }).checks };
};
/** Mines blocks, each as soon as the one before is published: whether all of them are by then. */
const areFoundWithin = async (ms: number, blocks: number): Promise<boolean> => {
  const deadline = Date.now() + ms;
  for (let n = 0; n < blocks; n += 1) {
    await stage.mine();
    const head = await stage.provider.getBlockNumber();
    while (stage.processedBlock() < head) {
      if (Date.now() > deadline) return false;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
  return true;
};

describe('while all nodes are away', () => {
  test('nothing is published and readiness says why; afterwards nothing was missed', async () => {
    watcher = await stage.watch({ RPC_URL: gateUrl });
    const orderHash = await post(10n);
    await reaches(orderHash, 'INACTIVE');
    await stage.settled();
    await until('it is ready', async () => (await ready()).status === 200);
    behaviour = isClosed;
    const before = stage.processedBlock();
    await mint(10n);
    await approve(10n);
    const late = await post(9n);
    await until('readiness says so', async () => /503/.test((await ready()).checks['dependencies'] ?? ''));
    expect((await ready()).status).toBe(503);
    expect((await opsAt(watcher.opsPort).ask('/livez')).status).toBe(200);
    expect(stage.processedBlock()).toBe(before);
    // It may have been cancelled or filled before: nobody can tell.
    await reaches(late, 'VALIDATING');
    behaviour = isOpen;
    await reaches(orderHash, 'ACTIVE');
    await reaches(late, 'ACTIVE');
    await stage.settled();
    await until('it is ready again', async () => (await ready()).status === 200);
  });

  test('from the start, the watcher waits for them', async () => {
    behaviour = isClosed;
    watcher = await stage.watch({ RPC_URL: gateUrl });
    await until('readiness says so', async () => /503/.test((await ready()).checks['dependencies'] ?? ''));
    await stage.mine();
    behaviour = isOpen;
    await stage.settled();
  });
});

describe('while one of two nodes is away', () => {
  test('the other one is asked, and the watcher stays ready; it is asked again when it is back', async () => {
    behaviour = isClosed;
    watcher = await stage.watch({ RPC_URL: `${gateUrl},${stage.anvil.rpcUrl}` });
    await mint(1n);
    await stage.settled();
    await until('it is ready', async () => (await ready()).status === 200);
    expect(requests).toBeGreaterThan(0);
    let answered = 0;
    behaviour = (calls, forward) => {
      answered += 1;
      return forward(calls);
    };
    await until('it is asked', () => answered > 20);
    await stage.mine();
    await stage.settled();
  });

  test('and the other one refuses what is asked, the watcher waits, and does not end', async () => {
    const stranger = await startMisbehavingNode(stage.anvil.rpcUrl, async (calls, forward) =>
      calls.some(({ method }) => method === 'eth_getLogs')
        ? refuse(calls, -32601, 'the method eth_getLogs does not exist')
        : forward(calls),
    );
    closing.push(() => stranger.close());
    // Also while the one that knows no logs is the preferred one.
    watcher = await stage.watch({ RPC_URL: `${stranger.url},${gateUrl}` });
    let hasFailed = false;
    void watcher.failed.then(() => {
      hasFailed = true;
    });
    await stage.mine();
    await stage.settled();
    behaviour = isClosed;
    const before = stage.processedBlock();
    await stage.mine(2);
    await until('readiness says so', async () => /eth_getLogs/.test((await ready()).checks['dependencies'] ?? ''));
    expect([hasFailed, stage.processedBlock()]).toEqual([false, before]);
    behaviour = isOpen;
    await stage.settled();
    expect(hasFailed).toBe(false);
  });

  test('all of them are asked for their chain id: it halts at the start where one is of another chain', async () => {
    const other = await startAnvil({ chainId: 1001 });
    closing.push(() => other.stop());
    watcher = await stage.watch({ RPC_URL: `${stage.anvil.rpcUrl},${other.rpcUrl}` });
    const { host } = new URL(other.rpcUrl);
    expect((await watcher.failed).message).toBe(`the node at ${host} has chain id 1001, not CHAIN_ID=8217`);
  });
});

describe('a preferred node that answers but has no new blocks', () => {
  test.each([
    ['a third one announces blocks', true, '600000'],
    ['another one goes on in silence', false, '1000'],
  ])('is passed over within seconds, while %s, and used again when it goes on', async (_what, hears, silenceMsMax) => {
    const lags: object[] = [];
    const logger: Logger = { ...silentLogger, warn: (fields) => 'otherEndpoint' in fields && lags.push(fields) };
    const settings = {
      RPC_URL: `${gateUrl},${stage.anvil.rpcUrl}`,
      RPC_WS_URL: hears ? stage.anvil.wsUrl : '',
      NODE_SILENCE_MS_MAX: silenceMsMax,
      POLL_INTERVAL_MS: '100',
    };
    watcher = await stage.watch(settings, logger);
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
  });
});

describe('a preferred node that stays behind what is published', () => {
  test.each(['120', '0'])('is passed over by a watcher that starts, with CATCH_UP_BLOCKS_MAX=%s', async (blocksMax) => {
    const settings = { RPC_URL: `${gateUrl},${stage.anvil.rpcUrl}`, CATCH_UP_BLOCKS_MAX: blocksMax };
    watcher = await stage.watch(settings);
    await stage.settled();
    behaviour = freezeAt((await stage.provider.getBlockNumber()) - 1);
    await watcher.stop();
    watcher = await stage.watch(settings);
    await stage.mine();
    await stage.settled();
  });
});

describe('a node that does not do its work', () => {
  test.each([
    ['lags behind, behind a balancer with one that does not', 'eth_call', -32000, 'header not found'],
    ['gives up now and then', 'eth_call', -32000, 'request timed out'],
    ['limits the rate', 'eth_call', -32005, 'limit exceeded'],
    ['has not got the logs yet', 'eth_getLogs', -32000, 'unknown block'],
  ])('makes no honest funds zero: it %s', async (_what, method, code, message) => {
    let refused = 0;
    let asked = 0;
    behaviour = async (calls, forward) => {
      const refusals = calls.filter((call) => call.method === method && ++asked % 2 === 0);
      refused += refusals.length;
      if (refusals.length > 0 && code === -32005) return { status: 429 };
      const answers = await forward(calls);
      return answers.map((answer) =>
        refusals.some(({ id }) => id === answer.id) ? { id: answer.id, error: { code, message } } : answer,
      );
    };
    watcher = await stage.watch({ RPC_URL: gateUrl });
    await mint(1000n);
    const orderHash = await post(100n);
    await approve(1000n);
    await reaches(orderHash, 'ACTIVE');
    const from = stage.facts.length;
    for (let n = 0n; n < 4n; n += 1n) {
      await approve(500n + n);
      await stage.settled();
    }
    const facts = stage.facts.slice(from).map(({ fact }) => fact);
    const values = facts.flatMap((fact) =>
      fact.type === 'MakerObserved' ? fact.funds.flatMap(({ allowance, balance }) => [allowance, balance]) : [],
    );
    expect(values.filter((value) => BigInt(value) < 500n)).toEqual([]);
    expect(new Set(values).size).toBeGreaterThanOrEqual(4);
    expect(refused).toBeGreaterThan(2);
  });
});

describe('a node that announces its blocks', () => {
  test('is followed at once, though polling is slow', async () => {
    watcher = await stage.watch({ RPC_WS_URL: stage.anvil.wsUrl, POLL_INTERVAL_MS: '600000' });
    await stage.settled();
    await until('the subscription stands', () => areFoundWithin(2000, 1));
    for (let n = 0; n < 5; n += 1) {
      await stage.mine();
      await stage.settled();
    }
  });
});

describe('a subscription that is lost on the way', () => {
  test('leaves polling, and is taken up again', async () => {
    const sockets = new Set<Socket>();
    let isCut = false;
    const { hostname, port } = new URL(stage.anvil.wsUrl);
    const cable = createServer((socket) => {
      if (isCut) return socket.destroy();
      const upstream = connect(Number(port), hostname);
      for (const each of [socket, upstream]) {
        sockets.add(each);
        each.on('error', () => each.destroy()).on('close', () => sockets.delete(each));
      }
      return socket.pipe(upstream).pipe(socket);
    });
    await new Promise<void>((resolve) => cable.listen(0, '127.0.0.1', resolve));
    closing.push(async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => cable.close(resolve));
    });
    const reasons: object[] = [];
    const logger: Logger = { ...silentLogger, warn: (fields) => 'reason' in fields && reasons.push(fields) };
    const RPC_WS_URL = `ws://127.0.0.1:${(cable.address() as AddressInfo).port}`;
    watcher = await stage.watch({ RPC_WS_URL, POLL_INTERVAL_MS: '8000' }, logger);
    /** Blocks are found so soon, one after the other, only where they are announced. */
    const isAnnounced = () => areFoundWithin(6000, 4);
    await until('blocks are announced', isAnnounced);
    isCut = true;
    for (const socket of sockets) socket.destroy();
    await until('it is noticed', () => reasons.length > 0);
    await stage.mine();
    await stage.settled();
    isCut = false;
    await until('blocks are announced again', isAnnounced);
  });
});
