import {
  type Fill,
  fillCalldata,
  findFault,
  gasLimitOf,
  gasUsedOf,
  type Level,
  ladder,
  netAmountOut,
  type Pair,
  type Quote,
  quote,
  type RankedOrders,
} from '@makerbook/book';
import {
  type BookLadder,
  type BookPairs,
  type BookQuote,
  bookQuoteQuery,
  ladderParams,
  ladderQuery,
  pairsQuery,
  QUOTED_ORDERS_MAX,
} from '@makerbook/contracts-http';
import { type Address, type UnixMs, ZERO_ADDRESS } from '@makerbook/contracts-primitives';
import { type ApiRequest, isRefusal, okJson, parseAs, type Reply, readQuery, refuseFields } from '@makerbook/http';
import type { LiveBook } from './live-book.js';

export interface QuoteParts {
  readonly book: Pick<LiveBook, 'orders' | 'oldestBlock'>;
  readonly staleSecondsMax: number;
  /** The `OrderFiller` that fills quotes. The zero address: none. */
  readonly orderFiller: Address;
  readonly unixMs: () => UnixMs;
}

const LEVELS = 20;
const SAME_TOKEN = 'must differ from the token that is paid';
/** How many orders one quote looks at. It costs no more, however many orders are too small to fill. */
const OFFERS_MAX = 10_000;

/** GET …/book/pairs. */
export function listPairs({ book, staleSecondsMax, unixMs }: QuoteParts): Reply {
  const when = { nowSeconds: unixMs() / 1000, staleSecondsMax };
  const pairs = [...book.orders.pairs()].map(({ orders, ...pair }) => {
    const [best] = ladder(book.orders, pair, when);
    return { ...pair, orders, best: best === undefined ? null : describeLevel(best) };
  });
  return answer({ ...asOf(book.oldestBlock(), when.nowSeconds), pairs } satisfies BookPairs);
}

/**
 * GET …/book/pairs: all pairs, or those that the request names, with their levels at one moment.
 * @param charge takes more requests off the reader's budget
 * @param parts `readPairs` answers for all pairs
 */
export async function answerPairs(
  { query, charge: chargeClient }: Pick<ApiRequest, 'query' | 'charge'>,
  charge: (requests: number) => void,
  { book, staleSecondsMax, unixMs, readPairs }: QuoteParts & { readonly readPairs: () => Promise<Reply> },
): Promise<Reply> {
  const asked = readQuery(query, pairsQuery);
  if (isRefusal(asked)) return asked;
  const { pairs, limit } = asked;
  if (pairs === undefined && limit !== undefined)
    return refuseFields([{ path: ['limit'], message: 'needs `pairs`, whose levels it limits' }]);
  if (pairs === undefined) return readPairs();
  charge(pairs.length - 1);
  await chargeClient(pairs.length - 1);
  const when = { nowSeconds: unixMs() / 1000, staleSecondsMax };
  const orders = new Map([...book.orders.pairs()].map((pair) => [`${pair.tokenOut}-${pair.tokenIn}`, pair.orders]));
  const named = pairs.map((pair) => {
    const [tokenOut, tokenIn] = pair.split('-') as [Address, Address];
    const levels = [...first(limit ?? LEVELS, ladder(book.orders, { tokenIn, tokenOut }, when))].map(describeLevel);
    return { tokenIn, tokenOut, orders: orders.get(pair) ?? 0, best: levels[0] ?? null, levels };
  });
  return answer({ ...asOf(book.oldestBlock(), when.nowSeconds), pairs: named } satisfies BookPairs);
}

/** GET …/book/{making}-{taking}. */
export function showLadder({ params, query }: ApiRequest, { book, staleSecondsMax, unixMs }: QuoteParts): Reply {
  const path = parseAs(ladderParams, params);
  if (isRefusal(path)) return path;
  const asked = readQuery(query, ladderQuery);
  if (isRefusal(asked)) return asked;
  const pair: Pair = { tokenIn: path.taking, tokenOut: path.making };
  if (pair.tokenIn === pair.tokenOut) return refuseFields([{ path: ['taking'], message: SAME_TOKEN }]);
  const when = { nowSeconds: unixMs() / 1000, staleSecondsMax };
  const levels = [...first(asked.limit ?? LEVELS, ladder(book.orders, pair, when))].map(describeLevel);
  return answer({ ...pair, ...asOf(book.oldestBlock(), when.nowSeconds), levels } satisfies BookLadder);
}

/** GET …/book/quote. */
export function quoteAmount({ query }: ApiRequest, { book, staleSecondsMax, orderFiller, unixMs }: QuoteParts): Reply {
  const read = readQuery(query, bookQuoteQuery);
  if (isRefusal(read)) return read;
  const { tokenIn, tokenOut, amountIn, amountOut, limit, ...options } = read;
  const { amountOutPerMillionGas: gasPrice } = options;
  const fault = (name: string, message: string) => refuseFields([{ path: [name], message }]);
  if (tokenIn === tokenOut) return fault('tokenOut', SAME_TOKEN);
  if ((amountIn === undefined) === (amountOut === undefined))
    return fault('amountIn', 'must be given, or amountOut, but not both');
  const asked = amountOut === undefined ? { amountIn: amountIn ?? 0n } : { amountOut };
  for (const [name, amount] of Object.entries(asked)) if (amount === 0n) return fault(name, 'must not be zero');
  const when = { nowSeconds: unixMs() / 1000, staleSecondsMax };
  const quoted = quote(best(book.orders), { tokenIn, tokenOut }, asked, {
    ...when,
    ...options,
    ordersMax: QUOTED_ORDERS_MAX,
  });
  const unfillable = findFault(quoted, { limit });
  if (unfillable !== undefined) return fault(unfillable.name, unfillable.detail);
  return answer({
    ...quoted.pair,
    ...asOf(quoted.block ?? book.oldestBlock(), when.nowSeconds),
    amountIn: String(quoted.amountIn),
    amountOut: String(quoted.amountOut),
    gas: gasLimitOf(quoted),
    gasUsed: gasUsedOf(quoted),
    ...(gasPrice !== undefined && { netAmountOut: String(netAmountOut(quoted, gasPrice)) }),
    passedOver: quoted.passedOver,
    fills: quoted.fills.map(describeFill),
    spares: quoted.spares.map(describeFill),
    ...(quoted.fills.length > 0 && describeCall(quoted, limit, orderFiller)),
  } satisfies BookQuote);
}

function describeCall(quoted: Quote, limit: bigint | undefined, orderFiller: Address) {
  const data = fillCalldata(quoted, { limit });
  return orderFiller === ZERO_ADDRESS ? { data } : { to: orderFiller, data, allowanceTarget: orderFiller };
}

/** Limits the orders to those at the best prices. */
function best(orders: RankedOrders): Pick<RankedOrders, 'executable' | 'blockOf'> {
  return {
    executable: (pair, when) => first(OFFERS_MAX, orders.executable(pair, when)),
    blockOf: (some) => orders.blockOf(some),
  };
}

function* first<Item>(countMax: number, items: Iterable<Item>): Generator<Item, void, void> {
  let count = 0;
  for (const item of items) {
    yield item;
    count += 1;
    if (count === countMax) return;
  }
}

function asOf(block: BookPairs['block'] | undefined, nowSeconds: number): Pick<BookPairs, 'block' | 'ageSeconds'> {
  if (block === undefined || block === null) return { block: null, ageSeconds: null };
  return { block, ageSeconds: Math.max(0, Math.round((nowSeconds - block.timestamp) * 1000) / 1000) };
}

function describeLevel({ price, amountIn, amountOut, orders, gas }: Level): BookLadder['levels'][number] {
  const { numerator, denominator } = price;
  return {
    price: { numerator: String(numerator), denominator: String(denominator) },
    amountIn: String(amountIn),
    amountOut: String(amountOut),
    orders,
    gas,
  };
}

function describeFill({ entry, makingAmount, takingAmount, executable }: Fill): BookQuote['fills'][number] {
  const { orderHash, order, signature } = entry;
  return {
    orderHash,
    order,
    signature,
    makingAmount: String(makingAmount),
    takingAmount: String(takingAmount),
    executable: String(executable),
  };
}

const answer = (body: object) => okJson(JSON.stringify(body), { 'Cache-Control': 'no-store' });
