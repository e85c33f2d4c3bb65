import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { type Address, deployArtifacts, type Hex } from '@makerbook/contracts-evm';
import type { NonceManager } from 'ethers';
import type { Watcher } from './run.js';
import { addressOf, Stage, until } from './testing/stage-chain.js';

const ERC20 = deployArtifacts.TestToken.abi;

let stage: Stage;
let maker: NonceManager;
let token: Address;
let watcher: Watcher | undefined;
let gate: Server;
let gateUrl: string;
let isGateOpen = true;
let requests = 0;

beforeAll(async () => {
  stage = await Stage.open();
  token = await stage.deploy(deployArtifacts.TestToken, 'Making', 'MAK', 18);
  maker = await stage.createAccount();
  gate = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', async () => {
      requests += 1;
      if (!isGateOpen) return response.writeHead(503).end('away');
      const headers = { 'content-type': 'application/json' };
      const answer = await fetch(stage.anvil.rpcUrl, { method: 'POST', headers, body: Buffer.concat(chunks) });
      return response.end(await answer.text());
    });
  });
  await new Promise<void>((resolve) => gate.listen(0, '127.0.0.1', resolve));
  gateUrl = `http://127.0.0.1:${(gate.address() as AddressInfo).port}`;
});
afterEach(async () => {
  await watcher?.stop();
  watcher = undefined;
  isGateOpen = true;
});
afterAll(async () => {
  gate.closeAllConnections();
  gate.close();
  await stage.close();
});

const approve = (amount: bigint) => stage.send(maker, token, ERC20, 'approve', stage.protocolAddress, amount);
const mint = (amount: bigint) => stage.send(stage.taker, token, ERC20, 'mint', addressOf(maker), amount);
const post = async (amount: bigint): Promise<Hex> =>
  stage.submit(await stage.sign(maker, { making: { token, amount } }));
const reaches = (orderHash: Hex, status: string) =>
  until(`${orderHash} is ${status}`, () => stage.state(orderHash)?.status === status);
const ready = async () => {
  const answer = await fetch(`http://127.0.0.1:${watcher?.opsPort}/readyz`);
  return { status: answer.status, checks: ((await answer.json()) as { checks: Record<string, string> }).checks };
};

describe('while all nodes are away', () => {
  test('nothing is published and readiness says why; afterwards nothing was missed', async () => {
    watcher = await stage.watch({ RPC_URL: gateUrl });
    const orderHash = await post(10n);
    await reaches(orderHash, 'INACTIVE');
    await stage.settled();
    await until('it is ready', async () => (await ready()).status === 200);
    isGateOpen = false;
    const before = stage.processedBlock();
    await mint(10n);
    await approve(10n);
    const late = await post(9n);
    await until('readiness says so', async () => /503/.test((await ready()).checks['dependencies'] ?? ''));
    expect((await ready()).status).toBe(503);
    expect((await fetch(`http://127.0.0.1:${watcher.opsPort}/livez`)).status).toBe(200);
    expect(stage.processedBlock()).toBe(before);
    // As of the last block that was processed.
    expect(stage.state(late)?.status).toBe('INACTIVE');
    isGateOpen = true;
    await reaches(orderHash, 'ACTIVE');
    await reaches(late, 'ACTIVE');
    await stage.settled();
    await until('it is ready again', async () => (await ready()).status === 200);
  });

  test('from the start, the watcher waits for them', async () => {
    isGateOpen = false;
    watcher = await stage.watch({ RPC_URL: gateUrl });
    await until('readiness says so', async () => /503/.test((await ready()).checks['dependencies'] ?? ''));
    await stage.mine();
    isGateOpen = true;
    await stage.settled();
  });
});

describe('while one of two nodes is away', () => {
  test('the other one is asked, and the watcher stays ready', async () => {
    isGateOpen = false;
    watcher = await stage.watch({ RPC_URL: `${gateUrl},${stage.anvil.rpcUrl}` });
    await mint(1n);
    await stage.settled();
    await until('it is ready', async () => (await ready()).status === 200);
    expect(requests).toBeGreaterThan(0);
  });
});

describe('a node that announces its blocks', () => {
  test('is followed at once, though polling is slow', async () => {
    watcher = await stage.watch({ RPC_WS_URL: stage.anvil.wsUrl, POLL_INTERVAL_MS: '20000' });
    await stage.settled();
    await until('the subscription stands', async () => {
      await stage.mine();
      await new Promise((resolve) => setTimeout(resolve, 200));
      return stage.processedBlock() === (await stage.provider.getBlockNumber());
    });
    for (let n = 0; n < 5; n += 1) {
      const startedAtMs = Date.now();
      await stage.mine();
      await stage.settled();
      expect(Date.now() - startedAtMs).toBeLessThan(5000);
    }
  });
});
