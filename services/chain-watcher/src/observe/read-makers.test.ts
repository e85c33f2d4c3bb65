import { expect, test } from '@jest/globals';
import { PUT_OFF, type StateCall, type StateValue } from '@makerbook/chain';
import type { Address, Hex } from '@makerbook/contracts-primitives';
import { nodeOfBlocks } from '../testing/node-of-blocks.js';
import { Touched } from '../watch/match-logs.js';
import { WatchedSet } from '../watch/watched-set.js';
import type { Holder } from './holder.js';
import { withoutPutOff } from './only-news.js';
import { proveTakingTokens } from './prove-taking-tokens.js';
import { type MakerReader, readMakers } from './read-makers.js';

const [protocol, maker] = ['99', 'a1'].map((byte): Address => `0x${byte.repeat(20)}`) as [Address, Address];
const tokens = ['b1', 'b2'].map((byte): Address => `0x${byte.repeat(20)}`) as [Address, Address];
const [taken, codeless] = ['c1', 'c2'].map((byte): Address => `0x${byte.repeat(20)}`) as [Address, Address];
const hashOf = (n: number): Hex => `0x${n.toString(16).padStart(64, '0')}`;
const cause = { kind: 'read', occasion: 'ORDER' } as const;
const { header } = nodeOfBlocks(100);

/** A maker that sells both tokens, the second one for a token without code. */
function setUp(answer: (call: StateCall) => StateValue = () => 5n) {
  const watched = new WatchedSet();
  const of = { maker, expiresAtSeconds: 9e9, walletSignature: null };
  watched.add({ ...of, orderHash: hashOf(1), makingToken: tokens[0], takingToken: taken }, undefined);
  watched.add({ ...of, orderHash: hashOf(2), makingToken: tokens[1], takingToken: codeless }, undefined);
  const asked = { calls: [] as StateCall[], codes: [] as (readonly Address[])[], unreadable: [] as string[] };
  const contracts = new Set([taken]);
  const reader: MakerReader = {
    protocol,
    onUnreadable: (token, what) => asked.unreadable.push(`${what} of ${token}`),
    state: {
      read: async (_, calls) => {
        asked.calls.push(...calls);
        return calls.map((call) => (call.to === protocol ? 0n : answer(call)));
      },
      readAlone: async () => [],
      findContracts: async (_, addresses) => {
        asked.codes.push(addresses);
        return new Set(addresses.filter((address) => contracts.has(address)));
      },
      suspects: () => new Map(),
    },
  };
  const touched = new Touched(watched);
  const whole = () => {
    const watchedMaker = watched.findMaker(maker);
    if (watchedMaker !== undefined) touched.whole(watchedMaker, cause, true);
    return touched.makers.values();
  };
  const factOf = async () => (await readMakers(reader, whole(), header(7)))[0]?.fact;
  return { watched, reader, asked, contracts, factOf };
}

test('tokens that only one maker sells are read at that maker’s cost, and the protocol at nobody’s', async () => {
  const { asked, factOf } = setUp();
  await factOf();
  expect(new Set(asked.calls.map(({ to, payer }) => `${to} ${payer}`))).toEqual(
    new Set([`${protocol} undefined`, ...tokens.map((token) => `${token} ${maker}`)]),
  );
});

test('funds that were put off are marked as unread, and funds that cannot be read count as zero', async () => {
  const answers = new Map<Address, StateValue>([
    [tokens[0], PUT_OFF],
    [tokens[1], undefined],
  ]);
  const { asked, factOf } = setUp(({ to }) => answers.get(to));
  expect((await factOf())?.funds).toEqual([
    { token: tokens[0], balance: '0x0', allowance: '0x0', unread: true },
    { token: tokens[1], balance: '0x0', allowance: '0x0' },
  ]);
  expect(asked.unreadable).toEqual(['balance', 'allowance'].map((what) => `${what} of ${tokens[1]}`));
});

test('an order that takes a token without code cannot be filled, and the code is asked for only once', async () => {
  const { asked, factOf } = setUp();
  const expected = [
    { orderHash: hashOf(1), filled: '0x0', cancelled: false },
    { orderHash: hashOf(2), filled: '0x0', cancelled: false, refused: true, noCode: true },
  ];
  expect((await factOf())?.orders).toEqual(expected);
  expect((await factOf())?.orders).toEqual(expected);
  expect(asked.codes).toEqual([[taken, codeless]]);
});

test('the sweep asks again for missing code, and has orders read again if the answer is new', async () => {
  const { watched, reader, asked, contracts, factOf } = setUp();
  const position = { matched: header(7) };
  const readingBlocks = { choose: async (at: unknown) => at };
  const sweep = async (number: number) => {
    position.matched = header(number);
    watched.unread.clear();
    asked.codes.length = 0;
    await proveTakingTokens({ watched, position, readingBlocks, monotonicMs: () => 3 } as unknown as Holder, reader);
    return [asked.codes, [...watched.unread.keys()].map((order) => watched.orderHash(order))];
  };
  // Both orders count as read, but by a log that knew nothing of codes.
  expect(await sweep(7)).toEqual([[[taken, codeless]], [hashOf(2)]]);
  expect(await sweep(7)).toEqual([[], []]);
  expect(await sweep(8)).toEqual([[[codeless]], []]);
  contracts.add(codeless);
  expect(await sweep(9)).toEqual([[[codeless]], [hashOf(2)]]);
  expect(await sweep(10)).toEqual([[], []]);
  expect((await factOf())?.orders[1]).not.toHaveProperty('noCode');
});

test('funds are not published as put off again, unless the log may hold something newer', async () => {
  const { watched, factOf } = setUp(() => PUT_OFF);
  const fact = { ...(await factOf()), orders: [], nonce: undefined } as NonNullable<Awaited<ReturnType<typeof factOf>>>;
  let isReadBack = true;
  const work = {
    watched,
    partitions: 1,
    followed: { partitions: [{ position: 1n }] },
    publisher: { isBefore: () => isReadBack },
  } as unknown as Holder;
  const told = () => withoutPutOff([{ fact, trace: undefined }], work).map((each) => each.fact.funds.length);
  expect(told()).toEqual([2]);
  watched.noteObserved({ ...fact, funds: fact.funds.slice(0, 1) }, 0);
  expect(told()).toEqual([1]);
  watched.noteObserved(fact, 0);
  expect(told()).toEqual([]);
  isReadBack = false;
  expect(told()).toEqual([2]);
});
