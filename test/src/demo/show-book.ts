import { setTimeout as pause } from 'node:timers/promises';
import type { BookEntry } from '@makerbook/contracts-events';
import { formatUnits } from 'ethers';
import type { Stack } from './read-stack.js';
import { type BookNews, watchBook } from './watch-book.js';

const FRAME_MS = 250;
const ENTRIES_MAX = 20;
const NEWS_MAX = 8;
const STALE_SECONDS_MAX = 5;

export interface ShowBookOptions {
  readonly stack: Stack;
  readonly topicPrefix: string;
  readonly output: Pick<NodeJS.WriteStream, 'isTTY' | 'write'>;
  readonly nowMs: () => number;
}

/** Draws the book and its newest changes four times a second; where the output is no terminal, one line for each change. */
export async function showBook({ stack, topicPrefix, output, nowMs }: ShowBookOptions): Promise<void> {
  const news: string[] = [];
  let failure: Error | undefined;
  const { book, stop } = watchBook(stack.kafkaBrokers, topicPrefix, {
    isOurs: () => true,
    onNews: (one) => {
      news.push(`${new Date(nowMs()).toISOString().slice(11, 23)}  ${lineOf(one)}`);
      if (!output.isTTY) output.write(`${news.at(-1)}\n`);
      if (news.length > NEWS_MAX) news.shift();
    },
    onFatal: (error) => {
      failure = error;
    },
  });
  try {
    await Promise.race([book.caughtUp, untilFailed(() => failure)]);
    for (;;) {
      if (failure !== undefined) throw failure;
      if (output.isTTY) {
        const lines = [ageLine(book.staleSince(), nowMs()), '', ...entryLines(book.entries, stack), '', ...news];
        output.write(`\u001b[H\u001b[2J${lines.join('\n')}\n`);
      }
      await pause(FRAME_MS);
    }
  } finally {
    await stop();
  }
}

async function untilFailed(failure: () => Error | undefined): Promise<void> {
  while (failure() === undefined) await pause(FRAME_MS, undefined, { ref: false });
}

function ageLine(staleSince: number | undefined, nowMs: number): string {
  if (staleSince === undefined) return 'the feed has no clock yet';
  const seconds = nowMs / 1000 - staleSince;
  const age = `complete up to ${new Date(staleSince * 1000).toISOString()}, ${seconds.toFixed(1)} s ago`;
  return seconds > STALE_SECONDS_MAX ? `${age}: DO NOT USE IT, the feed is behind` : age;
}

function entryLines(entries: ReadonlyMap<string, BookEntry>, { tokens }: Stack): string[] {
  const counts = new Map<string, number>();
  for (const { status } of entries.values()) counts.set(status, (counts.get(status) ?? 0) + 1);
  const amountOf = (address: string, amount: bigint) => {
    const token = tokens.find((each) => each.address.toLowerCase() === address);
    return token === undefined
      ? `${amount} of ${address.slice(0, 10)}`
      : `${formatUnits(amount, token.decimals)} ${token.symbol}`;
  };
  const newest = [...entries.values()].toSorted((a, b) => b.acceptedAtMs - a.acceptedAtMs).slice(0, ENTRIES_MAX);
  return [
    `${entries.size} open orders${[...counts].map(([status, count]) => `, ${count} ${status}`).join('')}`,
    ...newest.map(({ orderHash, order, remainingMakingAmount, ...entry }) => {
      const status = entry.status === 'INACTIVE' ? `${entry.status} (${entry.reason})` : entry.status;
      const { making, taking } = order;
      const terms = `${amountOf(making.token, BigInt(making.amount))} for ${amountOf(taking.token, BigInt(taking.amount))}`;
      return `${orderHash.slice(0, 10)}  ${status.padEnd(32)}  ${terms}, ${amountOf(making.token, BigInt(remainingMakingAmount))} left`;
    }),
    ...(entries.size > ENTRIES_MAX ? [`… and ${entries.size - ENTRIES_MAX} older ones`] : []),
  ];
}

function lineOf({ orderHash, status }: BookNews): string {
  return `${orderHash.slice(0, 10)}  ${status}`;
}
