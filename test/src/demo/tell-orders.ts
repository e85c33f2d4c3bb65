import type { BookEntry } from '@makerbook/contracts-events';
import type { StackFile } from '@makerbook/local-stack';
import { formatUnits } from 'ethers';
import { type OrderChange, statusOf } from '../kit/status-of.js';

type Tokens = Pick<StackFile, 'tokens'>['tokens'];

/** An order of the book in one line: what it sells for what, the price, and what is left. */
export function tellOrder({ order, remainingMakingAmount }: BookEntry, tokens: Tokens): string {
  const { making, taking } = order;
  const [sold, bought] = [making, taking].map(({ token }) => findToken(token, tokens)) as [Token, Token];
  const price = toWhole(taking.amount, bought) / toWhole(making.amount, sold);
  const terms = `${tellAmount(making.amount, sold)} for ${tellAmount(taking.amount, bought)}`;
  const left = remainingMakingAmount === making.amount ? '' : `, ${tellAmount(remainingMakingAmount, sold)} left`;
  return `${terms}, ${Number(price.toPrecision(6))} ${bought.symbol} each${left}`;
}

/** Tells in one line what became of an order, with the order as it is or last was. */
export function tellChange(change: OrderChange, tokens: Tokens): string {
  const [orderHash, entry] =
    change.kind === 'entry' ? [change.entry.orderHash, change.entry] : [change.orderHash, change.before];
  const status = `${orderHash.slice(0, 10)}  ${statusOf(change).padEnd(32)}`;
  return entry === undefined ? status.trimEnd() : `${status}  ${tellOrder(entry, tokens)}`;
}

interface Token {
  readonly symbol: string;
  readonly decimals: number;
}

/** A token that the stack does not know counts in its smallest unit. */
const findToken = (address: string, tokens: Tokens): Token =>
  tokens.find((each) => each.address.toLowerCase() === address) ?? {
    symbol: `of ${address.slice(0, 10)}`,
    decimals: 0,
  };

const tellAmount = (amount: string, { symbol, decimals }: Token) =>
  `${formatUnits(amount, decimals).replace(/\.0$/, '')} ${symbol}`;
const toWhole = (amount: string, { decimals }: Token) => Number(formatUnits(amount, decimals));
