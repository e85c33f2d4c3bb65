import { describe, expect, test } from '@jest/globals';
import { entryOf, openRouterBook, pair } from '@makerbook/book/testing';
import { type BookQuote, bookLadder, bookPairs, bookQuote, exampleDomain, examples } from '@makerbook/contracts-http';
import { type Address, type Hex, ZERO_ADDRESS } from '@makerbook/contracts-primitives';
import { type ApiRequest, isRefusal, type Reply } from '@makerbook/http';
import { answerPairs, listPairs, quoteAmount, showLadder } from './quote-book.js';

const largest = 2n ** 256n - 1n;

/** Answers from a book whose clock is at second 1,000. */
function open(
  fill: (book: ReturnType<typeof openRouterBook>) => void,
  orderFiller: Address = exampleDomain.orderFiller,
) {
  const book = openRouterBook();
  fill(book);
  const held = { orders: book.orders, oldestBlock: () => book.clocks.get(0)?.block };
  const parts = { book: held, staleSecondsMax: 5, orderFiller, unixMs: () => 1_001_500 };
  return {
    ladder: (params: Record<string, string>) =>
      showLadder({ params, query: new URLSearchParams() as URLSearchParams } as ApiRequest, parts),
    async pairs(query: Record<string, string>) {
      const charged: number[] = [];
      const charge = (requests: number) => void charged.push(requests);
      const request = { query: new URLSearchParams(query), charge: async (units: number) => charge(units) };
      const reply = await answerPairs(request, charge, { ...parts, readPairs: async () => listPairs(parts) });
      if (isRefusal(reply)) throw new Error(reply.detail);
      return { charged, body: bookPairs.parse(JSON.parse(String(reply.body))) };
    },
    quote: (query: object) => quoteAmount({ query: new URLSearchParams({ ...pair, ...query }) } as ApiRequest, parts),
  };
}

function bodyOf(reply: Reply): BookQuote {
  if (isRefusal(reply)) throw new Error(reply.detail);
  return bookQuote.parse(JSON.parse(String(reply.body)));
}

const twoOrders = (book: ReturnType<typeof openRouterBook>) => {
  book.put('01', { making: 10, taking: 20 });
  book.put('02', { making: 10, taking: 30 });
};

test('the service answers what the documented example shows', () => {
  const { fills, ...shown } = examples.bookQuote;
  const [fill] = fills;
  if (fill === undefined) throw new Error('the example has no fill');
  const { orderHash, order, signature } = fill;
  const tokens = { tokenIn: shown.tokenIn, tokenOut: shown.tokenOut };
  const { quote } = open((book) => {
    const entry = entryOf(orderHash as Hex, { making: 100n, taking: 50n });
    book.putEntry({ ...entry, order, signature } as typeof entry);
  });
  const { block, ageSeconds, ...answered } = bodyOf(quote({ ...tokens, amountOut: '100' }));
  expect({ ...answered, block: shown.block, ageSeconds: shown.ageSeconds }).toEqual({ ...shown, fills });
  expect([block?.number, ageSeconds]).toEqual([9, 1.5]);
});

test.each<[string, object, string]>([
  ['a limit that the orders do not give', { amountIn: '20', limit: '11' }, '/limit cannot be met: the orders give 10'],
  ['one that they cost more than', { amountOut: '20', limit: '49' }, '/limit cannot be met: the orders cost 50'],
  [
    'a limit above zero of an empty pair',
    { tokenIn: pair.tokenOut, tokenOut: pair.tokenIn, amountIn: '1', limit: '1' },
    '/limit',
  ],
  ['a pair of one token', { tokenIn: pair.tokenOut, amountIn: '1' }, '/tokenOut must differ from the token'],
  ['the amount zero', { amountIn: '0' }, '/amountIn must not be zero'],
  ['the amount out zero', { amountOut: '0x0' }, '/amountOut must not be zero'],
  ['both amounts, one of them zero', { amountIn: '0', amountOut: '1' }, '/amountIn must be given, or amountOut'],
  ['no amount', {}, '/amountIn must be given, or amountOut'],
])('%s is refused', (_, query, detail) => {
  const reply = open(twoOrders).quote(query);
  expect(reply).toMatchObject({ code: 'invalid_request', detail: expect.stringContaining(detail) });
});

test('sums beyond a uint256 are refused', () => {
  const { quote } = open((book) => {
    for (const name of ['01', '02']) book.put(name, { making: 1, taking: largest });
  });
  expect(quote({ amountOut: '2' })).toMatchObject({
    detail: expect.stringContaining('/amountOut costs more than 2^256'),
  });
  expect(bodyOf(quote({ amountOut: '1' }))).toMatchObject({ amountIn: String(largest) });
});

test('a limit that is just met is accepted', () => {
  const { quote } = open(twoOrders);
  expect(bodyOf(quote({ amountIn: '20', limit: '10' })).data).toBeDefined();
  expect(bodyOf(quote({ amountOut: '20', limit: '50' })).data).toBeDefined();
});

describe('the answer about pairs', () => {
  const both = `${pair.tokenOut}-${pair.tokenIn}`;

  test('has the levels of each named pair, in the order of the request, and charges each', async () => {
    const { ladder, pairs } = open(twoOrders);
    const none = both.split('-').reverse().join('-');
    const { body, charged } = await pairs({
      pairs: `${none},${both.toUpperCase().replaceAll('0X', '0x')}`,
      limit: '1',
    });
    const [first, second] = body.pairs;
    expect(first).toMatchObject({ orders: 0, best: null, levels: [] });
    const { levels } = bookLadder.parse(JSON.parse(String((ladder(ladderOf(both)) as { body: string }).body)));
    expect(second).toMatchObject({ ...pair, orders: 2, best: levels[0], levels: levels.slice(0, 1) });
    expect(charged).toEqual([1, 1]);
  });

  test('has all traded pairs if none is named, without levels and without charge', async () => {
    const { body, charged } = await open(twoOrders).pairs({});
    expect(body.pairs).toEqual([expect.objectContaining({ ...pair, orders: 2 })]);
    expect(body.pairs[0]).not.toHaveProperty('levels');
    expect(charged).toEqual([]);
  });

  const ladderOf = (text: string) => {
    const [making = '', taking = ''] = text.split('-');
    return { making, taking };
  };
});

test('the ladder of a token against itself is refused', () => {
  expect(open(twoOrders).ladder({ making: pair.tokenIn, taking: pair.tokenIn })).toMatchObject({
    code: 'invalid_request',
  });
});

describe('a quote', () => {
  test('without fills has no transaction', () => {
    const none = bodyOf(open(() => undefined).quote({ amountIn: '1' }));
    expect(none).toMatchObject({ amountOut: '0', gas: 0, fills: [], passedOver: 0 });
    expect(none).not.toHaveProperty('data');
    expect(none).not.toHaveProperty('to');
  });

  test('has only the call if the operator has named no contract', () => {
    const quoted = bodyOf(open(twoOrders, ZERO_ADDRESS).quote({ amountIn: '20' }));
    expect(quoted.data).toMatch(/^0xae325c02/);
    expect(quoted).not.toHaveProperty('to');
    expect(quoted).not.toHaveProperty('allowanceTarget');
  });

  test('passes over dust and counts it, by the gas price if that is known', () => {
    const { quote } = open((book) => {
      for (let n = 0; n < 400; n += 1)
        book.putEntry(entryOf(`0x${String(n).padStart(64, '0')}`, { making: 9, taking: 1 }));
      book.put('ff', { making: 10_000, taking: 20_000 });
    });
    const asked = { amountOut: '10000' };
    expect(bodyOf(quote(asked))).toMatchObject({ amountOut: '10000', fills: { length: 1 }, passedOver: 400 });
    const known = bodyOf(quote({ ...asked, amountOutPerMillionGas: '125' }));
    expect(known).toMatchObject({ amountOut: '10000', passedOver: 400 - 199 });
    const net = bodyOf(quote({ ...asked, amountOutPerMillionGas: '126' }));
    expect(net).toMatchObject({ passedOver: 400, gasUsed: 197_000, netAmountOut: String(10_000 - 25) });
    expect(bodyOf(quote({ amountOut: '1', amountOutPerMillionGas: '126' })).netAmountOut).toBe('-24');
    expect(bodyOf(quote(asked))).not.toHaveProperty('netAmountOut');
  });
});
