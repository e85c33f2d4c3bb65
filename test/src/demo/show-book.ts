import { setTimeout as pause } from 'node:timers/promises';
import { followBook } from '@makerbook/book';
import { type BookEntry, topicNames } from '@makerbook/contracts-events';
import { connectLog } from '@makerbook/kafka';
import type { StackFile } from '@makerbook/local-stack';
import { silentLogger } from '@makerbook/telemetry';
import type { FoundStack } from './find-stack.js';
import { tellChange, tellOrder } from './tell-orders.js';

const FRAME_MS = 250;
const ENTRIES_MAX = 20;
const NEWS_MAX = 8;
const STALE_SECONDS_MAX = 5;

/** Draws the book and its newest changes four times a second; without a terminal prints a line for each change. */
export async function showBook({ stack, topicPrefix }: FoundStack): Promise<void> {
  const { stdout } = process;
  const brokers = stack.kafkaBrokers.split(',');
  const log = connectLog({ brokers, clientId: 'makerbook-book', logger: silentLogger });
  const news: string[] = [];
  const { promise: failed, reject: onFatal } = Promise.withResolvers<never>();
  const book = followBook(log, {
    topic: topicNames(topicPrefix).book,
    onFatal,
    onChange: (change) => {
      if (change.kind === 'clock') return;
      news.push(`${new Date().toISOString().slice(11, 23)}  ${tellChange(change, stack.tokens)}`);
      if (!stdout.isTTY) stdout.write(`${news.at(-1)}\n`);
      if (news.length > NEWS_MAX) news.shift();
    },
  });
  const draw = async () => {
    await book.caughtUp;
    for (;;) {
      const lines = [ageLine(book.staleSince()), '', ...entryLines(book.entries, stack), '', ...news];
      if (stdout.isTTY) stdout.write(`\u001b[H\u001b[2J${lines.join('\n')}\n`);
      await pause(FRAME_MS);
    }
  };
  await Promise.race([draw(), failed]).finally(() => log.close());
}

function ageLine(staleSince: number | undefined): string {
  if (staleSince === undefined) return 'the feed has no clock yet';
  const seconds = Date.now() / 1000 - staleSince;
  const age = `complete up to ${new Date(staleSince * 1000).toISOString()}, ${seconds.toFixed(1)} s ago`;
  return seconds > STALE_SECONDS_MAX ? `${age}: DO NOT USE IT, the feed is behind` : age;
}

function entryLines(entries: ReadonlyMap<string, BookEntry>, { tokens }: StackFile): string[] {
  const counts = Map.groupBy(entries.values(), ({ status }) => status);
  const newest = [...entries.values()].toSorted((a, b) => b.acceptedAtMs - a.acceptedAtMs).slice(0, ENTRIES_MAX);
  return [
    `${entries.size} open orders${[...counts].map(([status, each]) => `, ${each.length} ${status}`).join('')}`,
    ...newest.map((entry) => {
      const status = entry.status === 'INACTIVE' ? `INACTIVE ${entry.reason}` : entry.status;
      return `${entry.orderHash.slice(0, 10)}  ${status.padEnd(32)}  ${tellOrder(entry, tokens)}`;
    }),
    ...(entries.size > ENTRIES_MAX ? [`… and ${entries.size - ENTRIES_MAX} older ones`] : []),
  ];
}
