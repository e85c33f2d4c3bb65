import { setTimeout as pause } from 'node:timers/promises';
import { lineOf } from '@makerbook/book';
import { topicNames } from '@makerbook/contracts-events';
import { connectLog } from '@makerbook/kafka';
import { silentLogger } from '@makerbook/telemetry';
import { findKafka } from '../demo/find-stack.js';
import { foldFeed, type Moment } from './fold-feed.js';
import { recordFeed } from './record-feed.js';
import { replayFeed } from './replay-feed.js';

/** The commands of `npm run book`, on the topics that it finds. */
export function openFeed() {
  const { connection, topicPrefix, routingGraceSeconds } = findKafka();
  const log = connectLog({ ...connection, clientId: 'makerbook-book', logger: silentLogger });
  return {
    close: log.close,
    /** Records until Ctrl-C. */
    async record(file: string): Promise<void> {
      const { book: topic } = topicNames(topicPrefix);
      // A signal may come twice, from the terminal and from npm. The second one must not cut the file.
      const stopped = new Promise((resolve) => {
        for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, resolve);
      });
      const onCaughtUp = (count: number) => console.log(`${topic} had ${count} records, and goes on until Ctrl-C`);
      console.log(`${await recordFeed(log, { topic, file, nowMs: Date.now(), onCaughtUp }, stopped)} records`);
    },
    async replay(file: string, speed: number, isFresh: boolean): Promise<void> {
      const options = { file, topicPrefix, speed, isFresh, now: Date.now, pause };
      console.log(`${await replayFeed(log, options)} records`);
    },
    /** Prints lines of a recorded feed, without times. */
    async tell(at: string, order: string | undefined): Promise<void> {
      const feed = await foldFeed(momentOf(at), { log, topicPrefix, routingGraceSeconds });
      const told = feed.filter(({ key, value }) =>
        order === undefined ? value !== null : key === order.toLowerCase(),
      );
      if (order !== undefined && told.length === 0) throw new Error(`by ${at} the feed has said nothing of ${order}`);
      for (const record of told) console.log(lineOf(record));
    },
  };
}

/** @throws Error if it is neither a block nor a position */
function momentOf(text: string): Moment {
  const [, first = '', offset] = /^(\d{1,15})(?::(\d{1,19}))?$/.exec(text) ?? [];
  if (first === '') throw new Error(`--at ${text}: a block is needed, or <partition>:<offset>`);
  return offset === undefined ? { block: Number(first) } : { partition: Number(first), offset: BigInt(offset) };
}
