/**
 * An aggregator's adapter that polls: pairs and ladders to search routes, and a quote with its transaction to fill. It
 * uses only HTTP, and no package of ours. `npm run example:poller`: fills once, and ends.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { openTaker, readStack } from './taker.js';

interface Level {
  /** Amounts are decimal strings. */
  readonly amountIn: string;
  readonly amountOut: string;
  readonly price: { readonly numerator: string; readonly denominator: string };
}
interface Held {
  /** The block for which the answer holds, and the block's age. Both are null before the first block. */
  readonly block: { readonly number: number } | null;
  readonly ageSeconds: number | null;
}
interface Pairs extends Held {
  readonly pairs: readonly { readonly tokenIn: string; readonly tokenOut: string; readonly orders: number }[];
}
interface Ladder extends Held {
  readonly levels: readonly Level[];
}
interface Quote extends Held {
  readonly amountIn: string;
  readonly amountOut: string;
  readonly gas: number;
  readonly fills: readonly object[];
  /** The transaction, and what to approve for it. */
  readonly to?: string;
  readonly data?: string;
  readonly allowanceTarget?: string;
}

const AGE_SECONDS_MAX = 5;
const POLL_MS = 1_000;
/** The loss accepted between quote and fill, in 1/10,000. */
const SLIPPAGE = 50n;

const stack = readStack();
const key = process.env['READER_KEY'];
// An error of `fetch` would show the key.
if (key !== undefined && !/^[ -~]+$/.test(key)) throw new Error('READER_KEY has a line break');
// The taker pays WETH and gets USDT, unless told otherwise.
// Answers have the addresses in lowercase.
const tokenIn = (process.env['TOKEN_IN'] ?? stack.tokens[1].address).toLowerCase();
const tokenOut = (process.env['TOKEN_OUT'] ?? stack.tokens[0].address).toLowerCase();
const amountIn = BigInt(process.env['AMOUNT_IN'] ?? 10n ** 15n);

const { levels, block } = await untilTraded();
console.log(`ladder of block ${block?.number}: ${levels.length} levels, ${estimate(levels, amountIn)} for ${amountIn}`);
// Ask for a quote as late as possible. If a fill fails, the call tries spare orders, which cover 30 %.
const asked = `quote?tokenIn=${tokenIn}&tokenOut=${tokenOut}&amountIn=${amountIn}&backups=30`;
const first = await read<Quote>(asked);
const taker = await openTaker({ ...stack, orderFiller: first.allowanceTarget ?? '' }, tokenIn, tokenOut);
const limit = (BigInt(first.amountOut) * (10_000n - SLIPPAGE)) / 10_000n;
const quote = await read<Quote>(`${asked}&limit=${limit}`);
console.log(`quoted ${quote.amountOut} for ${quote.amountIn}, ${quote.fills.length} orders, ${quote.gas} gas`);
const filled = await taker.fill(quote);
taker.close();
const isAsQuoted = String(filled.amountOut) === quote.amountOut && String(filled.amountIn) === quote.amountIn;
console.log(`filled ${filled.amountOut} for ${filled.amountIn}${isAsQuoted ? ', as quoted' : ''}`);

/** Polls until something can be filled. A real adapter polls the ladders of all its pairs, for ever. */
async function untilTraded(): Promise<Ladder> {
  for (;;) {
    const { pairs } = await read<Pairs>('pairs');
    if (pairs.some((pair) => pair.tokenIn === tokenIn && pair.tokenOut === tokenOut)) {
      const ladder = await read<Ladder>(`${tokenOut}-${tokenIn}?limit=20`);
      // Do not use an old book.
      if (ladder.levels.length > 0 && (ladder.ageSeconds ?? AGE_SECONDS_MAX) < AGE_SECONDS_MAX) return ladder;
    }
    await pause(POLL_MS);
  }
}

/** Estimates what the amount buys, from the levels. The search of routes needs no request for this. */
function estimate(levels: readonly Level[], amount: bigint): bigint {
  let [left, bought] = [amount, 0n];
  for (const { amountIn, amountOut, price } of levels) {
    if (left < BigInt(amountIn)) return bought + (left * BigInt(price.denominator)) / BigInt(price.numerator);
    left -= BigInt(amountIn);
    bought += BigInt(amountOut);
  }
  return bought;
}

/** Asks again while the service is busy or down, after the time that it names. @throws with any other problem */
async function read<Answer>(path: string): Promise<Answer> {
  for (;;) {
    const headers = key === undefined ? {} : { Authorization: `Bearer ${key}` };
    const answer = await fetch(`${stack.baseUrl}/v0alpha/book/${path}`, { headers }).catch(() => undefined);
    if (answer?.ok) return (await answer.json()) as Answer;
    if (answer !== undefined && answer.status !== 429 && answer.status < 500) throw new Error(await answer.text());
    await pause(1_000 * Number(answer?.headers.get('retry-after') ?? 1));
  }
}
