/**
 * An aggregator's adapter that streams: it reads the book over HTTP and holds it, so it quotes without a request, in
 * microseconds and for the newest block. `npm run example:streamer`: fills once, waits until the book shows the fill,
 * and ends.
 */
import { setTimeout as pause } from 'node:timers/promises';
import {
  type BookChange,
  type FollowedBook,
  fillCalldata,
  followBook,
  gasLimitOf,
  type Pair,
  quote,
  RankedOrders,
  readOverHttp,
} from '@makerbook/book';
import { openTaker, readStack } from './taker.js';

const STALE_SECONDS_MAX = 5;
const SLIPPAGE = 50n;

const stack = readStack();
const key = process.env['READER_KEY'];
// The taker pays WETH and gets USDT, unless told otherwise.
// The book has the addresses in lowercase.
const pair = {
  tokenIn: (process.env['TOKEN_IN'] ?? stack.tokens[1].address).toLowerCase(),
  tokenOut: (process.env['TOKEN_OUT'] ?? stack.tokens[0].address).toLowerCase(),
} as Pair;
const amountIn = BigInt(process.env['AMOUNT_IN'] ?? 10n ** 15n);

const reader = readOverHttp({ baseUrl: stack.baseUrl, ...(key !== undefined && { key }) });
/** The amount left of each order, keyed by order hash. */
const left = new Map<string, bigint>();
let orders = new RankedOrders();
let isWhole = false;
let book = follow();

const taker = await openTaker(stack, pair.tokenIn, pair.tokenOut);
for (;;) {
  const quoted = quoteNow();
  if (quoted === undefined) {
    await pause(200);
    continue;
  }
  console.log(`quoted ${quoted.amountOut} for ${quoted.amountIn} at block ${quoted.block?.number}`);
  const limit = (quoted.amountOut * (10_000n - SLIPPAGE)) / 10_000n;
  const filled = await taker.fill({ data: fillCalldata(quoted, { limit }), gas: gasLimitOf(quoted) });
  const isAsQuoted = filled.amountOut === quoted.amountOut && filled.amountIn === quoted.amountIn;
  console.log(`filled ${filled.amountOut} for ${filled.amountIn}${isAsQuoted ? ', as quoted' : ''}`);
  // The book shows the old amounts until it has seen the block. A real adapter subtracts its own fills.
  for (const { entry } of quoted.fills) {
    while (left.get(entry.orderHash) === BigInt(entry.remainingMakingAmount)) await pause(50);
    console.log(`SEEN ${entry.orderHash}, ${left.get(entry.orderHash) ?? 0n} left`);
  }
  break;
}
taker.close();
await book.stop();

/** Follows the book from its snapshot on. Starts again if it cannot read on. */
function follow(): FollowedBook {
  isWhole = false;
  left.clear();
  orders = new RankedOrders();
  const followed = followBook(reader, {
    topic: '',
    onChange: note,
    onFatal: (error) => {
      isWhole = false;
      console.error(`following the book again: ${error.message}`);
      setTimeout(() => {
        book = follow();
      }, 1_000);
    },
  });
  void followed.caughtUp.then(() => {
    isWhole = true;
    console.log(`snapshot: ${followed.entries.size} open orders`);
  });
  return followed;
}

function note(change: BookChange): void {
  orders.apply(change);
  if (change.kind === 'entry') left.set(change.entry.orderHash, BigInt(change.entry.remainingMakingAmount));
  if (change.kind === 'removed') left.delete(change.orderHash);
}

/** Undefined while the book is incomplete, too old or lacks the pair. Spare orders for 30 % help if a fill fails. */
function quoteNow() {
  const nowSeconds = Date.now() / 1000;
  if (!isWhole || nowSeconds - (book.staleSince() ?? 0) > STALE_SECONDS_MAX) return undefined;
  const quoted = quote(orders, pair, { amountIn }, { nowSeconds, staleSecondsMax: STALE_SECONDS_MAX, backups: 30 });
  return quoted.fills.length === 0 ? undefined : quoted;
}
