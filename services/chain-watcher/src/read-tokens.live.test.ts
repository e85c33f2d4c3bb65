import { beforeEach, expect, test } from '@jest/globals';
import { deployArtifacts } from '@makerbook/contracts-evm';
import type { Address, Hex } from '@makerbook/contracts-primitives';
import { type AskedCall, until } from '@makerbook/parts';
import { silentLogger } from '@makerbook/telemetry';
import type { NonceManager } from 'ethers';
import { eachOnAStage } from './testing/each-on-a-stage.js';
import { mineTogether } from './testing/mine-together.js';
import { addressOf, type Stage } from './testing/stage-chain.js';

const ILL_BEHAVED = deployArtifacts.IllBehavedToken.abi;
const [HONEST, REVERTS, BURNS] = [0, 1, 5] as const;
const FUNDS_PUT_OFF = JSON.stringify({ status: 'VALIDATING', waitsFor: 'FUNDS' });

let stage: Stage;
let maker: NonceManager;
let honest: Address;
let url: string;
/** Each request of the watcher, with its calls. */
let requests: (readonly AskedCall[])[];
/** How many facts the log had when each request was sent. */
let factsBefore: number[];

const { watch, openGate } = eachOnAStage(
  (own) => {
    stage = own;
  },
  async (chain) => {
    stage = chain;
    maker = await stage.createAccount();
    honest = await deployToken();
  },
);
beforeEach(async () => {
  requests = [];
  factsBefore = [];
  ({ url } = await openGate((calls, forward) => {
    requests.push(calls);
    factsBefore.push(stage.facts.length);
    return forward(calls);
  }));
});

/** Deploys a token that behaves so far. The maker has and allows more than enough of it. */
async function deployToken(): Promise<Address> {
  const token = await stage.deploy(deployArtifacts.IllBehavedToken, 'Token', 'TOK', 18);
  await stage.send(maker, token, ILL_BEHAVED, 'mint', addressOf(maker), 1000n);
  await approve(token, 1000n);
  return token;
}
const approve = (token: Address, amount: bigint) =>
  stage.send(maker, token, ILL_BEHAVED, 'approve', stage.protocolAddress, amount);
const answerWith = (token: Address, what: 'setBalanceAnswer' | 'setAllowanceAnswer', answer: number) =>
  stage.send(maker, token, ILL_BEHAVED, what, answer);
const approval = (signer: NonceManager, to: Address, amount: bigint) => {
  return { signer, to, method: 'approve', args: [stage.protocolAddress, amount] };
};
const post = async (token: Address, by = maker): Promise<Hex> =>
  stage.submit(await stage.sign(by, { making: { token, amount: 100n } }));
const reaches = (orderHash: Hex, status: string) =>
  until(`${orderHash} is ${status}`, () => {
    const state = stage.state(orderHash);
    return `${state?.status}${state !== undefined && 'reason' in state ? ` ${state.reason}` : ''}` === status;
  });
const isRead = (orderHash: Hex) => until('it is read', () => stage.state(orderHash)?.status === 'INACTIVE');
const fundsSince = (from: number) =>
  stage.facts.slice(from).flatMap(({ fact }) => (fact.type === 'MakerObserved' ? fact.funds : []));
/** True if a call asks about all these tokens. */
const asksOf = (call: AskedCall, ...tokens: readonly Address[]) =>
  tokens.every((token) => JSON.stringify(call.params).includes(token.slice(2)));

test('a token that reverts or has no code counts as zero, is logged once, and harms only its own orders', async () => {
  const warned: unknown[] = [];
  const warn = (fields: object) => void ('token' in fields && warned.push(fields.token));
  await watch({ RPC_URL: url }, { ...silentLogger, warn });
  const [bad, nothing] = [await deployToken(), '0x0000000000000000000000000000000000000004'] as const;
  const [order, neighbour, odd, again] = [
    await post(bad),
    await post(honest),
    await post(nothing),
    await post(nothing),
  ];
  await reaches(order, 'ACTIVE');
  await reaches(neighbour, 'ACTIVE');
  for (const each of [odd, again]) await reaches(each, 'INACTIVE INSUFFICIENT_ALLOWANCE');
  expect(stage.funding(odd)).toMatchObject({ balance: 0n, allowance: 0n });
  await answerWith(bad, 'setBalanceAnswer', REVERTS);
  await stage.settled();
  // The token emits no log when it turns bad. Its next log is the trigger.
  const [from, facts] = [requests.length, stage.facts.length];
  const approveBoth = (amount: bigint) =>
    mineTogether(
      stage,
      ILL_BEHAVED,
      [bad, honest].map((token) => approval(maker, token, amount)),
    );
  await approveBoth(999n);
  await reaches(order, 'INACTIVE INSUFFICIENT_BALANCE');
  await stage.settled();
  expect(stage.funding(neighbour)).toMatchObject({ balance: 1000n, allowance: 999n });
  const since = requests.slice(from).flat();
  expect(since.filter((call) => asksOf(call, bad, honest))).toHaveLength(1);
  await answerWith(bad, 'setBalanceAnswer', HONEST);
  await answerWith(bad, 'setAllowanceAnswer', REVERTS);
  await approve(bad, 998n);
  await reaches(order, 'INACTIVE INSUFFICIENT_ALLOWANCE');
  await approveBoth(996n);
  await stage.settled();
  expect(stage.state(neighbour)).toEqual({ status: 'ACTIVE' });
  const honestFunds = fundsSince(facts).filter(({ token }) => token === honest);
  expect(honestFunds.map(({ allowance, balance }) => [BigInt(allowance), BigInt(balance)])).toEqual([
    [999n, 1000n],
    [996n, 1000n],
  ]);
  expect(warned).toEqual(expect.arrayContaining([bad, nothing]));
  expect(warned).toHaveLength(2);
  await answerWith(bad, 'setAllowanceAnswer', HONEST);
  await approve(bad, 997n);
  await reaches(order, 'ACTIVE');
});

test('a block that touches nobody costs two requests, and no call per order or maker', async () => {
  const first = await watch({ RPC_URL: url });
  for (let n = 0; n < 3; n += 1) await isRead(await post(honest, await stage.createAccount()));
  // After two more blocks the orders are known to have been read.
  await stage.mine(2);
  await stage.settled();
  await first.stop();
  const from = await stage.provider.getBlockNumber();
  await stage.send(stage.taker, honest, ILL_BEHAVED, 'mint', addressOf(await stage.createAccount()), 1n);
  await stage.mine(9);
  requests = [];
  await watch({ RPC_URL: url, POLL_INTERVAL_MS: '100000' });
  await stage.settled();
  expect((await stage.provider.getBlockNumber()) - from).toBe(10);
  const methods = requests.map((calls) => calls.map(({ method }) => method).join('+'));
  expect(methods.filter((method) => method === 'eth_getLogs')).toHaveLength(10);
  expect(methods.filter((method) => method === 'eth_getBlockByNumber+eth_blockNumber').length).toBeLessThan(12);
  expect(methods.filter((method) => method.includes('eth_call'))).toEqual([]);
});

test('many gas-burning tokens of a maker cost a block a bounded amount, and the rest are read later', async () => {
  const code = await stage.provider.getCode(honest);
  const tokens = Array.from({ length: 70 }, (_, n): Address => `0x${(0xb000 + n).toString(16).padStart(40, '0')}`);
  const [burner, other] = [await stage.createAccount(), await stage.createAccount()];
  for (const token of tokens) await stage.provider.send('anvil_setCode', [token, code]);
  await stage.send(other, honest, ILL_BEHAVED, 'mint', addressOf(other), 1000n);
  await stage.send(other, honest, ILL_BEHAVED, 'approve', stage.protocolAddress, 1000n);
  await watch({ RPC_URL: url, SUSPECT_CALLS_MAX: '4' });
  const neighbour = await post(honest, other);
  await reaches(neighbour, 'ACTIVE');
  const tell = (method: string, args: readonly unknown[], some = tokens) =>
    mineTogether(
      stage,
      ILL_BEHAVED,
      some.map((to) => ({ signer: burner, to, method, args })),
    );
  await tell('mint', [addressOf(burner), 1000n]);
  await tell('approve', [stage.protocolAddress, 1000n]);
  const orders: Hex[] = [];
  for (const token of tokens) orders.push(await post(token, burner));
  for (const order of orders) await reaches(order, 'ACTIVE');
  await tell('setBalanceAnswer', [BURNS]);
  await stage.settled();
  const touched = tokens.map((to) => ({ signer: burner, to, method: 'approve', args: [stage.protocolAddress, 999n] }));
  const block = await mineTogether(stage, ILL_BEHAVED, [
    ...touched,
    { signer: other, to: honest, method: 'approve', args: [stage.protocolAddress, 999n] },
  ]);
  await stage.settled();
  const published = stage.facts.findIndex(({ fact }) => fact.type === 'BlockProcessed' && fact.block.hash === block);
  const gas = requests
    .filter((_, n) => (factsBefore[n] ?? 0) <= published)
    .flat()
    .filter(({ method, params }) => method === 'eth_call' && JSON.stringify(params).includes(block))
    .reduce((sum, { params }) => sum + Number((params[0] as { gas: Hex }).gas), 0);
  // Allow for a batch and single calls of the maker, four suspects, and the neighbour's values.
  expect(gas).toBeLessThan(50_000_000);
  expect(stage.state(neighbour)).toEqual({ status: 'ACTIVE' });
  expect(stage.funding(neighbour)).toMatchObject({ allowance: 999n });
  for (const order of orders) expect(stage.state(order)?.status).not.toBe('ACTIVE');
  expect(orders.some((order) => JSON.stringify(stage.state(order)) === FUNDS_PUT_OFF)).toBe(true);
  await tell('setBalanceAnswer', [HONEST]);
  await tell('approve', [stage.protocolAddress, 1000n]);
  for (const order of orders) await reaches(order, 'ACTIVE');
});
