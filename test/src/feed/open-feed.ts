import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { topicNames } from '@makerbook/contracts-events';
import { connectLog } from '@makerbook/kafka';
import { silentLogger } from '@makerbook/telemetry';
import { findKafka } from '../demo/find-stack.js';
import { recordFeed } from './record-feed.js';
import { replayFeed } from './replay-feed.js';

/** What `npm run book` does with the topics that it finds. */
export function openFeed() {
  const { connection, topicPrefix } = findKafka();
  const log = connectLog({ ...connection, clientId: 'makerbook-book', logger: silentLogger });
  return {
    close: log.close,
    /** Until Ctrl-C. */
    async record(file: string): Promise<void> {
      const { book: topic } = topicNames(topicPrefix);
      const stopped = Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
      const onCaughtUp = (count: number) => console.log(`${topic} had ${count} records, and goes on until Ctrl-C`);
      console.log(`${await recordFeed(log, { topic, file, nowMs: Date.now(), onCaughtUp }, stopped)} records`);
    },
    async replay(file: string, speed: number, isFresh: boolean): Promise<void> {
      const options = { file, topicPrefix, speed, isFresh, now: Date.now, pause };
      console.log(`${await replayFeed(log, options)} records`);
    },
  };
}
