import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { deployArtifacts } from '@makerbook/contracts-evm';
import type { Address, Hex } from '@makerbook/contracts-primitives';
import type { Logger } from '@makerbook/telemetry';
import type { NonceManager } from 'ethers';
import type { Watcher } from './run.js';
import { type AskedCall, type Gate, startGate } from './testing/gate-node.js';
import { mineTogether } from './testing/mine-together.js';
import { addressOf, Stage, until } from './testing/stage-chain.js';

const ILL_BEHAVED = deployArtifacts.IllBehavedToken.abi;
const [HONEST, REVERTS, TOO_SHORT, ENORMOUS, BURNS_GAS] = [0, 1, 2, 4, 5] as const;

let stage: Stage;
let maker: NonceManager;
let honest: Address;
let watcher: Watcher | undefined;
let gate: Gate;
/** Every call that the watcher makes. */
const calls: AskedCall[] = [];

beforeAll(async () => {
  stage = await Stage.open();
  gate = await startGate(stage.anvil.rpcUrl, async (asked) => {
    calls.push(...asked);
    return undefined;
  });
  maker = await stage.createAccount();
  honest = await deployToken();
});
afterEach(async () => {
  await watcher?.stop();
  watcher = undefined;
});
afterAll(async () => {
  await gate.close();
  await stage.close();
});

/** A token that behaves so far, of which the maker has and allows more than enough. */
const deployToken = async (
  artifact: 'IllBehavedToken' | 'RebasingToken' | 'FeeOnTransferToken' = 'IllBehavedToken',
) => {
  const token = await stage.deploy(deployArtifacts[artifact], 'Token', 'TOK', 18);
  await stage.send(maker, token, ILL_BEHAVED, 'mint', addressOf(maker), 1000n);
  await stage.send(maker, token, ILL_BEHAVED, 'approve', stage.protocolAddress, 1000n);
  return token;
};
const post = async (token: Address, amount = 100n): Promise<Hex> =>
  stage.submit(await stage.sign(maker, { making: { token, amount } }));
/** The funds in the token that the sweep published. */
const sweptFacts = (token: Address) =>
  stage.facts.flatMap(({ fact }) =>
    fact.type === 'MakerObserved' && JSON.stringify(fact.cause).includes('SWEEP')
      ? fact.funds.filter((funds) => funds.token === token)
      : [],
  );
const reaches = (orderHash: Hex, status: string) =>
  until(`${orderHash} is ${status}`, () => {
    const state = stage.state(orderHash);
    return `${state?.status}${state !== undefined && 'reason' in state ? ` ${state.reason}` : ''}` === status;
  });
/** An order that is ACTIVE and not read again for being new: what changes from now on is found for another reason. */
const postRead = async (token: Address, amount?: bigint): Promise<Hex> => {
  await stage.settled();
  const order = await post(token, amount);
  await reaches(order, 'ACTIVE');
  await stage.mine(2);
  await stage.settled();
  return order;
};

describe('a token that answers badly counts as zero, and harms only its own orders', () => {
  test.each([
    ['reverts', REVERTS],
    ['returns less than a word', TOO_SHORT],
    ['returns a million bytes', ENORMOUS],
    ['burns all gas', BURNS_GAS],
  ])('when its balanceOf or allowance %s', async (_what, answer) => {
    const warnings: object[] = [];
    const logger: Logger = {
      debug: () => undefined,
      info: () => undefined,
      warn: (fields) => warnings.push(fields),
      error: () => undefined,
    };
    watcher = await stage.watch({ RPC_URL: gate.url }, logger);
    const bad = await deployToken();
    const order = await post(bad);
    const neighbour = await post(honest);
    await reaches(order, 'ACTIVE');
    await reaches(neighbour, 'ACTIVE');
    await stage.send(maker, bad, ILL_BEHAVED, 'setBalanceAnswer', answer);
    await stage.settled();
    // It emits no log when it turns bad; the next log of it is the trigger.
    const before = { calls: calls.length, facts: stage.facts.length };
    const approveBoth = (allowance: bigint) => {
      const args = [stage.protocolAddress, allowance];
      const approvals = [bad, honest].map((to) => ({ signer: maker, to, method: 'approve', args }));
      return mineTogether(stage, ILL_BEHAVED, approvals);
    };
    await approveBoth(999n);
    await reaches(order, 'INACTIVE INSUFFICIENT_BALANCE');
    await stage.settled();
    expect(stage.funding(neighbour)).toMatchObject({ balance: 1000n, allowance: 999n });
    const together = calls.slice(before.calls).filter(({ params }) => {
      const asked = JSON.stringify(params);
      return asked.includes(bad.slice(2)) && asked.includes(honest.slice(2));
    });
    expect(together).toHaveLength(1);
    await stage.send(maker, bad, ILL_BEHAVED, 'setBalanceAnswer', HONEST);
    await stage.send(maker, bad, ILL_BEHAVED, 'setAllowanceAnswer', answer);
    await stage.send(maker, bad, ILL_BEHAVED, 'approve', stage.protocolAddress, 998n);
    await reaches(order, 'INACTIVE INSUFFICIENT_ALLOWANCE');
    await approveBoth(996n);
    await stage.settled();
    expect(stage.state(neighbour)).toEqual({ status: 'ACTIVE' });
    const neighbourFunds = stage.facts
      .slice(before.facts)
      .flatMap(({ fact }) => (fact.type === 'MakerObserved' ? fact.funds : []))
      .filter((funds) => funds.token === honest);
    expect(neighbourFunds.map((funds) => [BigInt(funds.allowance), BigInt(funds.balance)])).toEqual([
      [999n, 1000n],
      [996n, 1000n],
    ]);
    expect(warnings.filter((fields) => 'token' in fields && fields.token === bad)).toHaveLength(1);
    await stage.send(maker, bad, ILL_BEHAVED, 'setAllowanceAnswer', HONEST);
    await stage.send(maker, bad, ILL_BEHAVED, 'approve', stage.protocolAddress, 997n);
    await reaches(order, 'ACTIVE');
  });

  test.each<[string, Address]>([
    ['an account', `0x${'99'.repeat(20)}`],
    ['a precompile that answers with what it was asked', '0x0000000000000000000000000000000000000004'],
    ['a precompile that answers with a word', '0x0000000000000000000000000000000000000002'],
  ])('when it is %s and has no code', async (_what, bad) => {
    const warnings: object[] = [];
    const none = () => undefined;
    watcher = await stage.watch({}, { debug: none, info: none, warn: (fields) => warnings.push(fields), error: none });
    const order = await post(bad);
    const again = await post(bad);
    const neighbour = await post(honest);
    for (const each of [order, again]) await reaches(each, 'INACTIVE INSUFFICIENT_ALLOWANCE');
    await reaches(neighbour, 'ACTIVE');
    expect(stage.funding(order)).toMatchObject({ balance: 0n, allowance: 0n });
    expect(warnings.filter((fields) => 'token' in fields && fields.token === bad)).toHaveLength(1);
  });
});

describe('a token that answers well again, with no log', () => {
  test('is read again some blocks later, though there is no sweep', async () => {
    watcher = await stage.watch({ RPC_URL: gate.url });
    const bad = await deployToken();
    const order = await post(bad);
    await reaches(order, 'ACTIVE');
    await stage.send(maker, bad, ILL_BEHAVED, 'setBalanceAnswer', REVERTS);
    await stage.send(maker, bad, ILL_BEHAVED, 'approve', stage.protocolAddress, 999n);
    await reaches(order, 'INACTIVE INSUFFICIENT_BALANCE');
    await stage.settled();
    calls.length = 0;
    await until('it is read again', async () => {
      await stage.mine();
      await stage.settled();
      return calls.some(({ params }) => JSON.stringify(params).includes(bad.slice(2)));
    });
    expect(sweptFacts(bad)).toEqual([]);
    await stage.send(maker, bad, ILL_BEHAVED, 'setBalanceAnswer', HONEST);
    await until('it is ACTIVE again', async () => {
      await stage.mine();
      await stage.settled();
      return stage.state(order)?.status === 'ACTIVE';
    });
    expect(sweptFacts(bad)).toEqual([expect.objectContaining({ balance: '0x3e8' })]);
  });
});

describe('a token whose Transfer logs show more than arrives', () => {
  test('is read where a log touches it: an order follows what arrived, without a sweep', async () => {
    watcher = await stage.watch();
    const { taker } = stage;
    const fee = await deployToken('FeeOnTransferToken');
    const order = await postRead(fee, 1000n);
    const transfer = (from: NonceManager, to: NonceManager, amount: bigint) =>
      stage.send(from, fee, ILL_BEHAVED, 'transfer', addressOf(to), amount);
    await stage.send(taker, fee, ILL_BEHAVED, 'mint', addressOf(taker), 1000n);
    await transfer(maker, taker, 500n);
    await transfer(taker, maker, 500n);
    await stage.settled();
    expect(stage.funding(order)).toMatchObject({ balance: 995n });
    expect(stage.state(order)).toEqual({ status: 'INACTIVE', reason: 'INSUFFICIENT_BALANCE' });
    // So small a transfer has no fee.
    await transfer(taker, maker, 5n);
    await reaches(order, 'ACTIVE');
    expect(stage.states(order).map(({ status }) => status)).toEqual(['VALIDATING', 'ACTIVE', 'INACTIVE', 'ACTIVE']);
    expect(sweptFacts(fee)).toEqual([]);
  });
});

describe('the sweep', () => {
  test('finds an allowance that changes with no log, and changes back', async () => {
    watcher = await stage.watch({ SWEEP_PAIRS_PER_SECOND: '100' });
    const silent = await deployToken();
    const order = await postRead(silent);
    await stage.send(maker, silent, ILL_BEHAVED, 'setAllowanceAnswer', REVERTS);
    await reaches(order, 'INACTIVE INSUFFICIENT_ALLOWANCE');
    await stage.send(maker, silent, ILL_BEHAVED, 'setAllowanceAnswer', HONEST);
    await reaches(order, 'ACTIVE');
    expect(sweptFacts(silent)).toEqual(['0x0', '0x3e8'].map((allowance) => expect.objectContaining({ allowance })));
  });

  test('finds what a rebasing token changes with no log, and publishes nothing where nothing changed', async () => {
    watcher = await stage.watch({ SWEEP_PAIRS_PER_SECOND: '100' });
    const rebasing = await deployToken('RebasingToken');
    const order = await postRead(rebasing, 600n);
    await stage.send(maker, rebasing, deployArtifacts.RebasingToken.abi, 'setIndex', 5n * 10n ** 17n);
    await reaches(order, 'INACTIVE INSUFFICIENT_BALANCE');
    await stage.send(maker, rebasing, deployArtifacts.RebasingToken.abi, 'setIndex', 10n ** 18n);
    await reaches(order, 'ACTIVE');
    expect(sweptFacts(rebasing)).toHaveLength(2);
  });
});
