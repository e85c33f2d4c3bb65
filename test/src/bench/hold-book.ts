import { randomBytes } from 'node:crypto';
import { Book, type FeedRecord, quote, RankedOrders } from '@makerbook/book';
import { type BookEntry, encodeBookRecord } from '@makerbook/contracts-events';
import { type Hex, quantity, ZERO_ADDRESS } from '@makerbook/contracts-primitives';
import { median, percentile } from '../kit/summarise.js';

/**
 * A router's process. It holds this many orders of one pair, each with its own price, and prints what that takes. It
 * runs with `--expose-gc`, and dies if its heap is too small.
 */
const [count = 0] = process.argv.slice(2).map(Number);
const MAKERS = 1_000;
const SAMPLES = 2_000;

const bytes = (length: number): Hex => `0x${randomBytes(length).toString('hex')}`;
const number = (length: number) => quantity(BigInt(bytes(length)) + 1n);
const [tokenIn, tokenOut] = [bytes(20), bytes(20)];
const makers = Array.from({ length: MAKERS }, () => ({ maker: bytes(20), balance: number(12) }));
let offset = 0;

function nextRecord(orderHash: Hex): FeedRecord {
  offset += 1;
  const { maker, balance } = makers[offset % MAKERS] ?? { maker: bytes(20), balance: '0x0' as const };
  const amount = number(9);
  const entry: BookEntry = {
    type: 'BookEntry',
    orderHash,
    order: {
      salt: number(32),
      nonce: '0x0',
      expiresAt: number(4),
      making: { token: tokenOut, amount },
      taking: { token: tokenIn, amount: number(9) },
      maker,
      permittedTaker: ZERO_ADDRESS,
    },
    signature: bytes(65),
    remainingMakingAmount: amount,
    routableUntil: 2_000_000_000,
    acceptedAtMs: 1_700_000_000_000 + offset,
    position: { partition: 0, offset: String(offset) },
    causes: ['OBSERVED'],
    status: 'ACTIVE',
    funding: { balance, allowance: `0x${'f'.repeat(64)}`, block: offset },
  };
  const { key, value, headers } = encodeBookRecord(entry, {
    id: `0:${offset}:0`,
    source: '/makerbook/bench',
    timeMs: 0,
  });
  return { partition: 0, key: key ?? '', value, headers };
}

const [book, orders] = [new Book(), new RankedOrders()];
for (let n = 0; n < count; n += 1) orders.apply(book.apply(nextRecord(bytes(32))));
const block = { number: 1, hash: bytes(32), timestamp: 1 };
const clock = { type: 'BookClock' as const, block, position: { partition: 0, offset: String(offset) } };
orders.apply({ kind: 'clock', clock, id: { offset: 0n, index: 0 } });
globalThis.gc?.();
const { heapUsed, rss } = process.memoryUsage();

/** Microseconds of each act. */
function sample(act: (n: number) => void): number[] {
  return Array.from({ length: SAMPLES }, (_, n) => {
    const startedAtMs = performance.now();
    act(n);
    return (performance.now() - startedAtMs) * 1000;
  });
}
const changes = [...book.entries.keys()].slice(0, SAMPLES).map((hash) => book.apply(nextRecord(hash as Hex)));
const changeUs = sample((n) => {
  const change = changes[n];
  if (change !== undefined) orders.apply(change);
});
// This takes some twenty orders, spare ones included.
const amountOut = 15n * 2n ** 71n;
let fills = 0;
const quoteUs = sample(() => {
  fills = quote(orders, { tokenIn, tokenOut }, { amountOut }, { nowSeconds: 1, backups: 30 }).fills.length;
});
const figures = { heapMb: heapUsed / 1e6, rssMb: rss / 1e6, changeUs: median(changeUs), quoteUs: median(quoteUs) };
console.log(JSON.stringify({ ...figures, quoteP99Us: percentile(quoteUs, 0.99), fills }));
