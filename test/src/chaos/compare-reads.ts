import type { BookEntry } from '@makerbook/book';
import type { Account, BookPairs } from '@makerbook/contracts-http';
import type { FollowedOrders } from '../kit/follow-orders.js';
import type { LoadMaker } from './ask-service.js';

/** The number of prices of the load. */
const LEVELS = 200;

/**
 * Finds accounts that differ from the answers to their makers, from their lists, or from their nonces on the chain.
 * Call it while nothing is appended.
 * @param block the block that everything has processed
 */
export async function compareAccounts(makers: readonly LoadMaker[], block: number): Promise<string[]> {
  const compared = await Promise.all(makers.map((maker) => compareAccount(maker, block)));
  return compared.flat();
}

async function compareAccount(maker: LoadMaker, block: number): Promise<string[]> {
  const account = await maker.client.readAccount();
  const { records } = await maker.client.listOrders();
  const is = {
    block: account.block?.number,
    admission: account.admission,
    isRestricted: account.isCancelOnly || account.isQuarantined,
    openOrders: account.openOrders.count,
    nonce: records.length === 0 ? undefined : account.nonce && BigInt(account.nonce),
  };
  const must: typeof is = {
    block,
    admission: 'ADMITTED',
    isRestricted: false,
    openOrders: records.length,
    // The nonce is read with the orders.
    nonce: records.length === 0 ? undefined : maker.nonce(),
  };
  const fields = (Object.keys(must) as (keyof typeof must)[]).filter((name) => is[name] !== must[name]);
  const differs = fields.map((name) => `has ${name} ${is[name]}, and must have ${must[name]}`);
  return [...differs, ...compareInstructions(maker, account)].map((what) => `the account of ${maker.address} ${what}`);
}

/** The newest instruction that was answered counts, or one whose answer is unknown. */
function compareInstructions({ instructions }: LoadMaker, { switch: armed, caps }: Account): string[] {
  return [...Map.groupBy(instructions, ({ about }) => about)].flatMap(([about, own]) => {
    const cap = caps.find(({ token }) => token === about);
    const is = about === 'switch' ? `${armed.cancelAt}` : cap && `${BigInt(cap.amount)} ${cap.windowSeconds}`;
    const answered = own.filter(({ issuedAtMs }) => issuedAtMs !== undefined);
    const newest = answered.toSorted((one, other) => (other.issuedAtMs ?? 0) - (one.issuedAtMs ?? 0))[0];
    const none = about === 'switch' ? '0' : undefined;
    const unsure = own.filter((one) => !answered.includes(one)).map(({ terms }) => terms);
    const may = [newest === undefined ? none : newest.terms, ...unsure];
    return may.includes(is) ? [] : [`has ${is} for ${about}, and must have ${may.join(' or ')}`];
  });
}

/**
 * Finds pairs whose ladders by HTTP differ from the fillable orders of the book as read from Kafka. The book changes
 * with each block, so ask again until nothing differs.
 */
export async function comparePairs(feed: FollowedOrders, baseUrl: string): Promise<string[]> {
  const ask = async (query: string): Promise<BookPairs> => {
    const answer = await fetch(`${baseUrl}/v0alpha/book/pairs${query}`);
    if (!answer.ok) throw new Error(`the pairs are answered by ${answer.status}: ${await answer.text()}`);
    return (await answer.json()) as BookPairs;
  };
  const held = [...feed.book().entries.values()];
  const pairOf = ({ order }: BookEntry) => `${order.making.token}-${order.taking.token}`;
  const fillable = Map.groupBy(
    held.filter(({ status }) => status === 'ACTIVE'),
    pairOf,
  );
  const named = [...fillable.keys()];
  const listed = (await ask('')).pairs.map(({ tokenIn, tokenOut }) => `${tokenOut}-${tokenIn}`);
  if (listed.toSorted().join() !== named.toSorted().join()) return [`the pairs are ${listed}, and must be ${named}`];
  if (named.length === 0) return ['the book has nothing to fill'];
  const { pairs } = await ask(`?pairs=${named}&limit=${LEVELS}`);
  return pairs.flatMap(({ tokenIn, tokenOut, orders, levels = [] }) => {
    const own = fillable.get(`${tokenOut}-${tokenIn}`) ?? [];
    const is = [orders, sum(levels.map(({ amountOut }) => BigInt(amountOut)))].join();
    const must = [own.length, fillableOf(own, held)].join();
    return is === must ? [] : [`${tokenOut} for ${tokenIn} has orders and amount ${is}, and must have ${must}`];
  });
}

/** The fillable amount of orders that sell the same token. A maker fills no more than its newest funds. */
function fillableOf(orders: readonly BookEntry[], held: readonly BookEntry[]): bigint {
  const byMaker = Map.groupBy(orders, ({ order }) => order.maker);
  return sum(
    [...byMaker].map(([maker, own]) => {
      const read = held.flatMap(({ order, ...entry }) =>
        order.maker === maker && order.making.token === own[0]?.order.making.token && 'funding' in entry
          ? entry.funding
          : [],
      );
      const newest = read.reduce((one, other) => (other.block > one.block ? other : one));
      const rest = sum(own.map(({ remainingMakingAmount }) => BigInt(remainingMakingAmount)));
      return [rest, BigInt(newest.balance), BigInt(newest.allowance)].reduce((one, other) =>
        other < one ? other : one,
      );
    }),
  );
}

function sum(amounts: readonly bigint[]): bigint {
  return amounts.reduce((one, other) => one + other, 0n);
}
