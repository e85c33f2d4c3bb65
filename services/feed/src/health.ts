import type { Health } from '@makerbook/http';
import type { LiveBook } from './live-book.js';

/** The brokers answer a fetch twice a second, and a dead connection is replaced after 10.5 s. */
const KAFKA_SILENCE_MS_MAX = 15_000;

/**
 * Ready once the topic was read to the end that it had. Without Kafka the streams stay open, and the age of the last
 * block shows that the book does not move.
 */
export function judgeReadiness({ recent, silenceMs }: Pick<LiveBook, 'recent' | 'silenceMs'>): Health {
  const isRead = recent() !== undefined;
  const checks = {
    book: isRead ? 'ok' : 'still being read',
    kafka: silenceMs() < KAFKA_SILENCE_MS_MAX ? 'ok' : 'does not answer',
  };
  return { isOk: isRead, checks };
}
