import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { deployArtifacts, eventTopics } from '@makerbook/contracts-evm';
import type { Address, Hex } from '@makerbook/contracts-primitives';
import type { NonceManager } from 'ethers';
import type { Watcher } from './run.js';
import { type AskedCall, type Gate, startGate } from './testing/gate-node.js';
import { mineTogether } from './testing/mine-together.js';
import { addressOf, Stage, until } from './testing/stage-chain.js';

const ERC20 = deployArtifacts.TestToken.abi;

let stage: Stage;
let honest: Address;
let watcher: Watcher | undefined;
let gate: Gate;
/** Each request of the watcher. */
let requests: (readonly AskedCall[])[] = [];

beforeAll(async () => {
  stage = await Stage.open();
  honest = await stage.deploy(deployArtifacts.TestToken, 'Making', 'MAK', 18);
  gate = await startGate(stage.anvil.rpcUrl, async (calls) => {
    requests.push(calls);
    return undefined;
  });
});
beforeEach(() => {
  requests = [];
});
afterEach(async () => {
  await watcher?.stop();
  watcher = undefined;
});
afterAll(async () => {
  await gate.close();
  await stage.close();
});

const post = async (maker: NonceManager, token: Address): Promise<Hex> =>
  stage.submit(await stage.sign(maker, { making: { token, amount: 100n } }));
const approval = (signer: NonceManager, to: Address, amount: bigint) => ({
  signer,
  to,
  method: 'approve',
  args: [stage.protocolAddress, amount],
});
/** Requests with calls at this block. */
const callsAt = (blockHash: Hex) =>
  requests
    .map((calls) =>
      calls.filter(({ method, params }) => method === 'eth_call' && JSON.stringify(params).includes(blockHash)),
    )
    .filter((calls) => calls.length > 0);
/** The funds that were read at this block. */
const fundsAt = (blockHash: Hex) =>
  stage.facts.flatMap(({ fact }) => (fact.type === 'MakerObserved' && fact.block.hash === blockHash ? fact.funds : []));
const isRead = async (orderHash: Hex) => until('it is read', () => stage.state(orderHash)?.status === 'INACTIVE');

describe('a block that touches several pairs', () => {
  test.each([
    ['one eth_call', '200', 1],
    ['as few as the bound on a call allows', '4', 3],
  ])('costs %s', async (_what, callsMax, expected) => {
    watcher = await stage.watch({ RPC_URL: gate.url, MULTICALL_CALLS_MAX: callsMax });
    const makers: NonceManager[] = [];
    for (let n = 0; n < 5; n += 1) {
      const maker = await stage.createAccount();
      makers.push(maker);
      await isRead(await post(maker, honest));
    }
    const approvals = makers.map((maker) => approval(maker, honest, 7n));
    const hash = await mineTogether(stage, ERC20, approvals);
    await stage.settled();
    expect(fundsAt(hash)).toHaveLength(5);
    expect(callsAt(hash).map((calls) => calls.length)).toEqual(new Array(expected).fill(1));
  });
});

describe('many tokens of one maker that burn all gas', () => {
  test('cost the block of others a bound, however many they are', async () => {
    const suspectCallsMax = 4;
    watcher = await stage.watch({ RPC_URL: gate.url, SUSPECT_CALLS_MAX: String(suspectCallsMax) });
    const attacker = await stage.createAccount();
    const maker = await stage.createAccount();
    const burners = Array.from({ length: 60 }, (_, n): Address => `0x${(0xb000 + n).toString(16).padStart(40, '0')}`);
    for (const burner of burners) await stage.provider.send('anvil_setCode', [burner, burnerCode]);
    const order = await post(maker, honest);
    const orders: Hex[] = [];
    for (const burner of burners) orders.push(await post(attacker, burner));
    for (const each of [order, ...orders]) await isRead(each);
    await stage.send(stage.taker, honest, ERC20, 'mint', addressOf(maker), 100n);
    await stage.settled();

    const attack = burners.map((burner) => approval(attacker, burner, 100n));
    const hash = await mineTogether(stage, ERC20, [approval(maker, honest, 100n), ...attack]);
    await stage.settled();
    expect(stage.state(order)).toEqual({ status: 'ACTIVE' });
    expect(fundsAt(hash)).toHaveLength(61);
    // The honest pair in a batch, and some of the others alone, with an empty call that proves the node.
    const [batch, suspects, ...more] = callsAt(hash).sort((a, b) => a.length - b.length);
    expect([batch?.length, suspects?.length, more]).toEqual([1, 1 + suspectCallsMax, []]);
    const gas = [...(batch ?? []), ...(suspects ?? [])].map(({ params }) => Number((params[0] as { gas: Hex }).gas));
    expect(gas.reduce((sum, each) => sum + each)).toBeLessThanOrEqual(
      2 * 150_000 + 100_000 + (1 + suspectCallsMax) * 3_000_000,
    );
  });
});

/** The code of a token that emits Approval when it is asked to approve, and otherwise loops for ever. */
const burnerCode: Hex = `0x${[
  '5f3560e01c63095ea7b3146012575b600e565b',
  `600435337f${eventTopics.approval.slice(2)}60205fa300`,
].join('')}`;
