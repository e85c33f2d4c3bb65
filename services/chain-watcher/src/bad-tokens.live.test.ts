import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { type Address, deployArtifacts, type Hex } from '@makerbook/contracts-evm';
import type { Logger } from '@makerbook/telemetry';
import type { NonceManager } from 'ethers';
import type { Watcher } from './run.js';
import { addressOf, Stage, until } from './testing/stage-chain.js';

const ILL_BEHAVED = deployArtifacts.IllBehavedToken.abi;
const [HONEST, REVERTS, TOO_SHORT, ENORMOUS, BURNS_GAS] = [0, 1, 2, 4, 5] as const;

let stage: Stage;
let maker: NonceManager;
let honest: Address;
let watcher: Watcher | undefined;

beforeAll(async () => {
  stage = await Stage.open();
  maker = await stage.createAccount();
  honest = await deployToken();
});
afterEach(async () => {
  await watcher?.stop();
  watcher = undefined;
});
afterAll(() => stage.close());

/** A token that behaves so far, of which the maker has and allows more than enough. */
const deployToken = async (artifact: 'IllBehavedToken' | 'RebasingToken' = 'IllBehavedToken') => {
  const token = await stage.deploy(deployArtifacts[artifact], 'Token', 'TOK', 18);
  await stage.send(maker, token, ILL_BEHAVED, 'mint', addressOf(maker), 1000n);
  await stage.send(maker, token, ILL_BEHAVED, 'approve', stage.protocolAddress, 1000n);
  return token;
};
const post = async (token: Address, amount = 100n): Promise<Hex> =>
  stage.submit(await stage.sign(maker, { making: { token, amount } }));
const reaches = (orderHash: Hex, status: string) =>
  until(`${orderHash} is ${status}`, () => {
    const state = stage.state(orderHash);
    return `${state?.status}${state !== undefined && 'reason' in state ? ` ${state.reason}` : ''}` === status;
  });

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
    watcher = await stage.watch({}, logger);
    const bad = await deployToken();
    const order = await post(bad);
    const neighbour = await post(honest);
    await reaches(order, 'ACTIVE');
    await stage.send(maker, bad, ILL_BEHAVED, 'setBalanceAnswer', answer);
    // It says nothing when it turns bad; the next log of it is the trigger.
    await stage.send(maker, bad, ILL_BEHAVED, 'approve', stage.protocolAddress, 999n);
    await stage.send(maker, honest, ILL_BEHAVED, 'approve', stage.protocolAddress, 999n);
    await reaches(order, 'INACTIVE INSUFFICIENT_BALANCE');
    await stage.send(maker, bad, ILL_BEHAVED, 'setBalanceAnswer', HONEST);
    await stage.send(maker, bad, ILL_BEHAVED, 'setAllowanceAnswer', answer);
    await stage.send(maker, bad, ILL_BEHAVED, 'approve', stage.protocolAddress, 998n);
    await reaches(order, 'INACTIVE INSUFFICIENT_ALLOWANCE');
    await stage.settled();
    expect(stage.state(neighbour)).toEqual({ status: 'ACTIVE' });
    expect(warnings.filter((fields) => 'token' in fields && fields.token === bad)).toHaveLength(1);
    await stage.send(maker, bad, ILL_BEHAVED, 'setAllowanceAnswer', HONEST);
    await stage.send(maker, bad, ILL_BEHAVED, 'approve', stage.protocolAddress, 997n);
    await reaches(order, 'ACTIVE');
  });

  test('when there is no contract at all', async () => {
    watcher = await stage.watch();
    const order = await post(`0x${'99'.repeat(20)}`);
    const neighbour = await post(honest);
    await reaches(order, 'INACTIVE INSUFFICIENT_ALLOWANCE');
    await reaches(neighbour, 'ACTIVE');
  });
});

describe('the sweep', () => {
  test('finds what a rebasing token says to nobody, and publishes nothing where nothing changed', async () => {
    watcher = await stage.watch({ SWEEP_PAIRS_PER_SECOND: '100' });
    const rebasing = await deployToken('RebasingToken');
    const order = await post(rebasing, 600n);
    await reaches(order, 'ACTIVE');
    await stage.send(maker, rebasing, deployArtifacts.RebasingToken.abi, 'setIndex', 5n * 10n ** 17n);
    await reaches(order, 'INACTIVE INSUFFICIENT_BALANCE');
    await stage.send(maker, rebasing, deployArtifacts.RebasingToken.abi, 'setIndex', 10n ** 18n);
    await reaches(order, 'ACTIVE');
    const swept = stage.facts.filter(({ fact }) => 'cause' in fact && JSON.stringify(fact.cause).includes('SWEEP'));
    expect(swept).toHaveLength(2);
  });
});
