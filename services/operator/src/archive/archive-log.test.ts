import { expect, jest, test } from '@jest/globals';
import type { FollowOptions, Log, StoredRecord } from '@makerbook/kafka';
import { archiveLog } from './archive-log.js';
import type { Archive } from './open-archive.js';

const record = (offset: number): StoredRecord => {
  const rest = { topic: 'log', partition: 0, timestampMs: 1, key: 'maker', value: Buffer.from('{}'), headers: {} };
  return { ...rest, offset: BigInt(offset) };
};

async function open() {
  jest.useFakeTimers();
  const files = new Map<string, Buffer>();
  const store: Archive['store'] = {
    name: 'memory',
    list: async (after) => [...files.keys()].filter((name) => name > after).sort(),
    read: async (name) => files.get(name),
    create: async (name, bytes) => {
      if (files.has(name)) return false;
      files.set(name, bytes);
      return true;
    },
    remove: async (name) => void files.delete(name),
    close: () => undefined,
  };
  let following: FollowOptions | undefined;
  const given = { end: 0n, isAway: false };
  const log = {
    followTopic: (options: FollowOptions) => {
      following = options;
      return { caughtUp: Promise.resolve(), stop: async () => undefined, positions: () => [], lastPollAtMs: () => 0 };
    },
    async endOffsets() {
      if (given.isAway) throw new Error('no broker answers');
      return [given.end];
    },
  } as unknown as Log;
  const fatal: string[] = [];
  const archive = { store, topic: 'log', partitions: 1, key: undefined, headFile: undefined };
  const archiving = await archiveLog(log, 'log', archive, {
    onFatal: ({ message }) => fatal.push(message),
    onFault: ({ message }) => fatal.push(`fault: ${message}`),
  });
  return {
    archiving,
    given,
    fatal,
    files,
    take: async (...offsets: number[]) => following?.onRecords(0, offsets.map(record)),
    pass: (ms: number) => jest.advanceTimersByTimeAsync(ms),
    async end() {
      jest.useRealTimers();
      await archiving.stop().catch(() => undefined);
    },
  };
}

test('an archive knows its age even if the log never stands still', async () => {
  const { archiving, given, take, pass, end } = await open();
  for (let offset = 0; offset < 5; offset += 1) {
    await take(offset);
    // The log has one more record, which is not read yet.
    given.end = BigInt(offset + 2);
    await pass(2_000);
  }
  expect(archiving.ageMs()).toBeLessThan(5_000);
  await end();
});

test('an archive goes on writing while the ends of the log cannot be read', async () => {
  const { archiving, given, files, fatal, take, pass, end } = await open();
  given.isAway = true;
  await take(0);
  await pass(2_000);
  expect([files.size, fatal, archiving.ageMs()]).toEqual([1, [], Number.POSITIVE_INFINITY]);
  await end();
});

test('an archive stops if the log was created again', async () => {
  const { given, fatal, take, pass, end } = await open();
  given.end = 2n;
  await take(0, 1);
  await pass(2_000);
  await expect(take(0)).rejects.toThrow('partition 0 goes back to 0: the log was created again');
  given.end = 1n;
  await pass(2_000);
  expect(fatal).toEqual(['partition 0 ends at 1, the archive at 2: the archive belongs to another log']);
  await end();
});
