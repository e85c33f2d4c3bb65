import type { Log, LogRecord } from '@makerbook/kafka';

/**
 * Appends records to a Kaia node's topic, in order within each partition. Appends them all at once, so that a slow
 * machine leaves no gap between them.
 */
export async function feedTopic(log: Log, topic: string, records: readonly Omit<LogRecord, 'topic'>[]): Promise<void> {
  // Headers are appended as UTF-8, which would turn a byte above 0x7f into two.
  const headers = records.flatMap((record) => Object.values(record.headers)).join('');
  if (!/^[\0-\x7f]*$/.test(headers)) throw new Error('a header holds a byte above 0x7f');
  const appender = log.createAppender({ timeoutMs: 60_000 });
  const appending = [];
  for (const partition of new Set(records.map((record) => record.partition))) {
    const own = records.filter((record) => record.partition === partition).map((record) => ({ topic, ...record }));
    for (let from = 0; from < own.length; from += 100) appending.push(appender.append(own.slice(from, from + 100)));
  }
  await Promise.all(appending);
  await appender.close();
}
