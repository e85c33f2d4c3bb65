import { expect, test } from '@jest/globals';
import { deployArtifacts } from '@makerbook/contracts-evm';
import type { Hex } from '@makerbook/contracts-primitives';
import { Interface, MaxUint256 } from 'ethers';
import { type FillLimits, fillCalldata } from './encode-fill.js';
import { type Asked, type Fill, quote } from './quote-orders.js';
import { openRouterBook, pair } from './testing/router-book.js';

const filler = new Interface(deployArtifacts.OrderFiller.abi);

function quoteOf(asked: Asked) {
  const book = openRouterBook();
  book.put('01', { making: 10, taking: 20 });
  book.put('02', { making: 10, taking: 30 });
  return quote(book.orders, pair, asked, { nowSeconds: 1_000, backups: 50 });
}

test.each<[string, Asked, FillLimits, readonly bigint[]]>([
  ['of an amount in', { amountIn: 20n }, {}, [20n, MaxUint256, 10n, 300_000n]],
  ['of an amount in with a limit', { amountIn: 20n }, { limit: 9n, gasPerFill: 7 }, [20n, MaxUint256, 9n, 7n]],
  ['of an amount out', { amountOut: 8n }, {}, [16n, 8n, 8n, 300_000n]],
  ['of an amount out with a limit', { amountOut: 8n }, { limit: 24n }, [24n, 8n, 8n, 300_000n]],
  ['of more than there is', { amountOut: 99n }, {}, [50n, 99n, 20n, 300_000n]],
])('the call %s has the fills, the spare orders and the limits', (_, asked, given, limits) => {
  const quoted = quoteOf(asked);
  const [tries, encoded] = filler.decodeFunctionData('fill', fillCalldata(quoted, given));
  expect(encoded.toArray()).toEqual(limits);
  expect(tries.map(([, , makingAmount]: unknown[]) => makingAmount)).toEqual(
    [...quoted.fills, ...quoted.spares].map(({ executable }) => executable),
  );
});

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

test('a quote that fills nothing has no call', () => {
  expect(() => fillCalldata(quoteOf({ amountOut: 0n }))).toThrow(RangeError);
});
