import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { deployArtifacts } from '@makerbook/contracts-evm';
import { paths } from '@makerbook/contracts-http';
import type { Address, Hex } from '@makerbook/contracts-primitives';
import { openTcpGate, startAnvil } from '@makerbook/parts';
import { ContractFactory, JsonRpcProvider, Wallet } from 'ethers';
import {
  hashOf,
  newWallet,
  type SignedOrder,
  signCancellation,
  signExit,
  signOrder,
} from './testing/sign-test-orders.js';
import { startTestIngress, type TestIngress } from './testing/start-test-ingress.js';

const { abi, bytecode } = deployArtifacts.TestWallet;
const owner = newWallet();
const [stranger, ordinary] = [newWallet(), newWallet()];
let anvil: Awaited<ReturnType<typeof startAnvil>>;
let node: Awaited<ReturnType<typeof openTcpGate>>;
let provider: JsonRpcProvider;
let ingress: TestIngress;
let maker: Address;

beforeAll(async () => {
  anvil = await startAnvil();
  node = await openTcpGate(anvil.rpcUrl);
  provider = new JsonRpcProvider(anvil.rpcUrl, 8217, { staticNetwork: true, cacheTimeout: -1 });
  const deployer = new Wallet(newWallet().privateKey, provider);
  await provider.send('anvil_setBalance', [deployer.address, '0x3635c9adc5dea00000']);
  const deployed = await new ContractFactory(abi, bytecode, deployer).deploy(owner.address);
  maker = (await deployed.getAddress()).toLowerCase() as Address;
  while ((await provider.getCode(maker)) === '0x') await new Promise((resolve) => setTimeout(resolve, 10));
  ingress = await startTestIngress({ WALLET_RPC_URL: node.url, WALLET_TIMEOUT_MS: '60000' });
  await ingress.showMaker(owner, { maker });
  await ingress.showMaker(ordinary);
});
afterAll(async () => {
  await ingress.stop();
  await node.close();
  provider.destroy();
  await anvil.stop();
});
beforeEach(() => node.open());

async function send(path: string, body: unknown) {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(new URL(path, ingress.url), { method: 'POST', headers, body: JSON.stringify(body) });
  const answer = (await response.json()) as { code?: string; detail?: string; index?: number };
  return { ...answer, answer, status: response.status };
}
const post = (...orders: readonly SignedOrder[]) => send(paths.limitOrders, orders);
const sign = (signer = owner) => signOrder(signer, { maker });
/** With bytes behind the owner's signature, which the wallet does not look at. */
const lengthened = ({ order, signature }: SignedOrder): SignedOrder => ({ order, signature: `${signature}0badbeef` });
const cancelling = (order: SignedOrder, signer = owner, salted = true) => ({
  orderHash: hashOf(order),
  signature: `${signCancellation(signer, hashOf(order), order.order.salt, 'uint256')}0badbeef`,
  ...(salted && { salt: order.order.salt }),
});
const placed = async (): Promise<SignedOrder> => {
  const order = lengthened(await sign());
  expect((await post(order)).status).toBe(200);
  return order;
};

describe('a contract wallet', () => {
  test('takes all back, sends heartbeats and names keys, which cancel for it without the chain', async () => {
    const key = newWallet();
    const named = await signExit('cancelKeys', owner, { maker, keys: [key.address] });
    const beat = await signExit('heartbeat', owner, { maker, cancelAt: Math.floor(Date.now() / 1000) + 60 });
    const all = await signExit('cancelAll', owner, { maker, untilMs: Date.now() });
    for (const [path, body] of [
      [paths.cancelKeys, named],
      [paths.heartbeat, beat],
      [paths.cancelAll, all],
    ] as const) {
      const forged = { ...body, signature: `0x${'11'.repeat(70)}` };
      expect(await send(path, forged)).toMatchObject({ status: 403, code: 'invalid_signature' });
      expect(await send(path, body)).toMatchObject({ status: 200 });
    }
    const order = await placed();
    await ingress.showMaker(owner, { maker, cancelKeys: [key.address.toLowerCase() as Hex] });
    await node.shut();
    expect(await send(paths.cancellations, [cancelling(order)])).toMatchObject({ status: 503, code: 'unavailable' });
    const salt = order.order.salt;
    const byKey = { orderHash: hashOf(order), signature: signCancellation(key, hashOf(order), salt, 'uint256') };
    expect((await send(paths.cancellations, [byKey])).answer).toMatchObject([{ status: 'CANCELLED' }]);
  });

  test('names itself while Postgres is away: cancel-all needs no store, and of a hash it is not known whose it is', async () => {
    const order = await placed();
    await ingress.gates.postgres.shut();
    try {
      const all = await signExit('cancelAll', owner, { maker, untilMs: Date.now() });
      const byHash = await send(paths.cancellations, [cancelling(order)]);
      expect(byHash).toMatchObject({ status: 503, detail: expect.stringContaining('cancel-all') });
      expect(await send(paths.cancelAll, all)).toMatchObject({ status: 200 });
    } finally {
      await ingress.gates.postgres.open();
    }
  });
});

test('while the chain is away, contract wallets are unavailable, keys are served, and strangers are told so', async () => {
  const [theirs, mine] = [await signOrder(ordinary), await sign()];
  await node.shut();
  expect(await post(mine)).toMatchObject({ status: 503, code: 'unavailable' });
  const beat = { maker, cancelAt: Math.floor(Date.now() / 1000) + 60, issuedAtMs: Date.now() + 1000 };
  expect(await send(paths.heartbeat, await signExit('heartbeat', owner, beat))).toMatchObject({ status: 503 });
  expect(await post(theirs)).toMatchObject({ status: 200 });
  expect(await post(await signOrder(stranger, { maker: stranger.address }))).toMatchObject({
    code: 'maker_not_whitelisted',
  });
  await node.open();
  expect(await post(mine)).toMatchObject({ status: 200 });
});
