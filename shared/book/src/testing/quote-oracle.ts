import type { BookEntry } from '@makerbook/contracts-events';
import type { Asked } from '../quote-orders.js';
import type { Given, openRouterBook } from './router-book.js';

/** One thing that happens to a book. */
export interface Operation {
  readonly name: string;
  readonly what: 'put' | 'FILLED' | 'CANCELLED';
  readonly given: Given & { readonly making: bigint; readonly taking: bigint; readonly remaining: bigint };
}

type RouterBook = ReturnType<typeof openRouterBook>;

/** An order keeps maker, amounts and acceptance; the rest of it changes. */
export function playOperation(book: RouterBook, { name, what, given }: Operation): void {
  const before = book.entries.get(`0x${name.repeat(32)}`);
  if (what !== 'put') {
    if (before !== undefined) book.remove(name, what);
    return;
  }
  const { making, taking, remaining, ...others } = given;
  const kept =
    before === undefined
      ? { making, taking }
      : {
          making: BigInt(before.order.making.amount),
          taking: BigInt(before.order.taking.amount),
          maker: before.order.maker.slice(-1),
          acceptedAtMs: before.acceptedAtMs,
        };
  book.put(name, { ...others, ...kept, remaining: remaining < kept.making ? remaining : kept.making });
}

interface Offer {
  readonly name: string;
  readonly entry: BookEntry;
  readonly executable: bigint;
}

/** What ladder and quote of the one pair are to be, found without any index: sort all, and try each amount. */
export function askOracle(book: RouterBook, asked: Asked, backups: number) {
  const offers = offersOf(book);
  const fills: [string, bigint, bigint][] = [];
  let [amountIn, amountOut] = [0n, 0n];
  for (const offer of offers) {
    const best = mostOf(offer, asked, amountIn, amountOut);
    if (best === 0n) break;
    fills.push([offer.name, best, costOf(offer.entry, best)]);
    amountIn += costOf(offer.entry, best);
    amountOut += best;
    if (best < offer.executable) break;
  }
  const spares: [string, bigint][] = [];
  for (const { name, executable } of offers.slice(fills.length)) {
    const spare = spares.reduce((sum, [, amount]) => sum + amount, 0n);
    if (spare * 100n < amountOut * BigInt(backups)) spares.push([name, executable]);
  }
  const levels = Map.groupBy(
    offers,
    ({ entry }) => Number(entry.order.taking.amount) / Number(entry.order.making.amount),
  );
  return {
    quote: { fills, spares, amountIn, amountOut },
    levels: [...levels.values()].map((level) => [
      level.reduce((sum, { entry, executable }) => sum + costOf(entry, executable), 0n),
      level.reduce((sum, { executable }) => sum + executable, 0n),
      level.length,
    ]),
  };
}

function mostOf({ entry, executable }: Offer, asked: Asked, amountIn: bigint, amountOut: bigint): bigint {
  for (let amount = executable; amount > 0n; amount -= 1n) {
    const fits =
      'amountIn' in asked ? amountIn + costOf(entry, amount) <= asked.amountIn : amountOut + amount <= asked.amountOut;
    if (fits) return amount;
  }
  return 0n;
}

function costOf({ order }: BookEntry, amount: bigint): bigint {
  const [making, taking] = [BigInt(order.making.amount), BigInt(order.taking.amount)];
  let cost = 0n;
  while (cost * making < amount * taking) cost += 1n;
  return cost;
}

function offersOf(book: RouterBook): Offer[] {
  const priceOf = ({ order }: BookEntry) => Number(order.taking.amount) / Number(order.making.amount);
  const sorted = [...book.entries]
    .filter(([, { status, routableUntil }]) => status === 'ACTIVE' && routableUntil > 1_000)
    .sort(
      ([hash, one], [other, two]) =>
        priceOf(one) - priceOf(two) || one.acceptedAtMs - two.acceptedAtMs || (hash < other ? -1 : 1),
    );
  const funds = fundsOf(book);
  return sorted.flatMap(([hash, entry]) => {
    const left = funds.get(entry.order.maker) ?? 0n;
    const remaining = BigInt(entry.remainingMakingAmount);
    const executable = remaining < left ? remaining : left;
    funds.set(entry.order.maker, left - executable);
    return executable === 0n ? [] : [{ name: hash.slice(2, 4), entry, executable }];
  });
}

/** By maker: the reading of the highest block since it had no order, less what was filled to the end after it. */
function fundsOf({ changes }: RouterBook): Map<string, bigint> {
  const open = new Map<string, BookEntry>();
  const known = new Map<string, { amount: bigint; block: number }>();
  for (const change of changes) {
    if (change.kind === 'entry' && change.entry.status !== 'VALIDATING') {
      const { orderHash, order, funding } = change.entry;
      open.set(orderHash, change.entry);
      const [balance, allowance] = [BigInt(funding.balance), BigInt(funding.allowance)];
      const isNewest = funding.block >= (known.get(order.maker)?.block ?? 0);
      if (isNewest) known.set(order.maker, { amount: balance < allowance ? balance : allowance, block: funding.block });
    } else if (change.kind === 'removed') {
      const order = open.get(change.orderHash);
      open.delete(change.orderHash);
      if (order === undefined) continue;
      if (![...open.values()].some(({ order: { maker } }) => maker === order.order.maker))
        known.delete(order.order.maker);
    }
  }
  return new Map([...known].map(([maker, { amount }]) => [maker, amount]));
}
