import { expect, test } from '@jest/globals';
import { deployArtifacts } from '@makerbook/contracts-evm';
import type { Hex } from '@makerbook/contracts-primitives';
import { Interface } from 'ethers';
import { fillCalldata } from './encode-fill.js';
import { type Asked, type Fill, quote } from './quote-orders.js';
import { openRouterBook, pair } from './testing/router-book.js';

const filler = new Interface(deployArtifacts.OrderFiller.abi);

function quoteOf(asked: Asked) {
  const book = openRouterBook();
  book.put('01', { making: 10, taking: 20 });
  book.put('02', { making: 10, taking: 30 });
  return quote(book.orders, pair, asked, { nowSeconds: 1_000, backups: 50 });
}

test.each([0, 64, 65, 96, 131])('an order with a signature of %i bytes is passed on as it is', (length) => {
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
