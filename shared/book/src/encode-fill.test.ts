import { expect, test } from '@jest/globals';
import { deployArtifacts } from '@makerbook/contracts-evm';
import type { Hex } from '@makerbook/contracts-primitives';
import { Interface } from 'ethers';
import { fillCalldata, findFault } from './encode-fill.js';
import { type Asked, type Fill, quote } from './quote-orders.js';
import { addressOf, openRouterBook, pair } from './testing/router-book.js';

const filler = new Interface(deployArtifacts.OrderFiller.abi);

function quoteOf(asked: Asked) {
  const book = openRouterBook();
  book.put('01', { making: 10, taking: 20 });
  book.put('02', { making: 10, taking: 30 });
  return quote(book.orders, pair, asked, { nowSeconds: 1_000, backups: 50 });
}

test.each([0, 64, 65, 96, 131])('an order with a signature of %i bytes is passed on unchanged', (length) => {
  const signature: Hex = `0x${'5a'.repeat(length)}`;
  const quoted = quoteOf({ amountOut: 20n });
  const signed = ({ entry, ...fill }: Fill) => ({ ...fill, entry: { ...entry, signature } });
  const data = fillCalldata({ ...quoted, fills: quoted.fills.map(signed) });
  const tries = quoted.fills.map(({ entry: { order }, executable }) => ({
    order: { ...order, making: { ...order.making }, taking: { ...order.taking } },
    signature,
    makingAmount: executable,
  }));
  const limits = { amountIn: 50n, amountOut: 20n, minAmountOut: 20n, gasPerFill: 300_000n };
  expect(data).toBe(filler.encodeFunctionData('fill', [tries, limits]));
});

test.each<[string, Asked, { limit?: bigint; gasPerFill?: number }, string]>([
  ['a limit above what an amount buys', { amountIn: 20n }, { limit: 11n }, 'limit cannot be met: the orders give 10'],
  ['a limit below what an amount costs', { amountOut: 20n }, { limit: 49n }, 'limit cannot be met: the orders cost 50'],
  ['a limit below zero', { amountIn: 20n }, { limit: -1n }, 'limit must be'],
  ['a limit of 33 bytes', { amountOut: 20n }, { limit: 2n ** 256n }, 'limit must be'],
  ['an amount of 33 bytes', { amountIn: 2n ** 256n }, {}, 'amountIn must be'],
  ['an amount out of 33 bytes', { amountOut: 2n ** 256n }, {}, 'amountOut must be'],
  ['gas below zero', { amountOut: 20n }, { gasPerFill: -1 }, 'gasPerFill must be'],
  ['gas in parts', { amountOut: 20n }, { gasPerFill: 0.5 }, 'gasPerFill must be'],
])('%s is refused, and the error names the field', (_, asked, limits, message) => {
  expect(() => fillCalldata(quoteOf(asked), limits)).toThrow(new RegExp(`^${message}`));
});

test('a limit equal to the quoted amount is accepted', () => {
  expect(findFault(quoteOf({ amountIn: 20n }), { limit: 10n })).toBeUndefined();
  expect(findFault(quoteOf({ amountOut: 20n }), { limit: 50n })).toBeUndefined();
});

test('a quote whose sum exceeds 2^256 - 1 is refused, for a given amount in or out', () => {
  const largest = 2n ** 256n - 1n;
  const book = openRouterBook();
  for (const name of ['01', '02']) book.put(name, { making: 1, taking: largest });
  for (const name of ['03', '04'])
    book.put(name, {
      making: largest,
      taking: 1,
      funds: largest,
      maker: name,
      tokens: { ...pair, tokenIn: addressOf('e') },
    });
  const when = { nowSeconds: 1_000 };
  const dear = quote(book.orders, pair, { amountOut: 2n }, when);
  expect(() => fillCalldata(dear)).toThrow('amountOut costs more than 2^256 - 1 of tokenIn');
  const cheap = quote(book.orders, { ...pair, tokenIn: addressOf('e') }, { amountIn: 2n }, when);
  expect(() => fillCalldata(cheap)).toThrow('amountIn buys more than 2^256 - 1 of tokenOut');
});
