import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Book, lineOf, type RecordedRecord } from '@makerbook/book';
import { testParts } from '@makerbook/parts';
import { commandsIn, outputOf, type RunningCommand, startCommand } from '../examples/run-commands.js';
import { eventually } from '../kit/eventually.js';
import { readFeedFile } from './keep-files.js';

const folder = mkdtempSync(join(tmpdir(), 'makerbook-feed-'));
const file = (name: string) => join(folder, name);
/** Name only brokers: no stack runs in this folder. */
const environment = { KAFKA_BROKERS: testParts().kafkaBrokers, MAKERBOOK_DATA: folder };
const topicsOf = (name: string) => ({ ...environment, TOPIC_PREFIX: `${name}-${randomBytes(4).toString('hex')}.` });
const book = (words: string, env = {}) => outputOf(`npm run book -- ${words}`, { ...environment, ...env });
const [router = ''] = commandsIn('examples/README.md', 'npm run example:router');
const running: RunningCommand[] = [];

async function readAll(name: string): Promise<RecordedRecord[]> {
  const records: RecordedRecord[] = [];
  for await (const record of readFeedFile(file(name))) records.push(record);
  return records;
}

beforeAll(() => book(`--make ${file('made.gz')} --minutes 2 --seed 3`));
afterAll(async () => {
  await Promise.all(running.map((command) => command.stop()));
  rmSync(folder, { recursive: true });
});

test('a made feed is whole, and only the same seed makes the same feed', async () => {
  const records = await readAll('made.gz');
  const [held, kinds] = [new Book(), new Set<string>()];
  held.expectWhole();
  for (const record of records) kinds.add(held.apply(record).kind);
  expect([...kinds].sort()).toEqual(['clock', 'entry', 'removed']);
  await expect(book(`--make ${file('made.gz')}`)).rejects.toThrow('made.gz is there already');
  await book(`--make ${file('again.gz')} --minutes 2 --seed 3`);
  await book(`--make ${file('other.gz')} --minutes 2 --seed 4`);
  expect(await readAll('again.gz')).toEqual(records);
  expect(await readAll('other.gz')).not.toEqual(records);
});

test('a replayed feed is recorded as it was, and is not replayed into a topic that is not empty', async () => {
  const topics = topicsOf('replayed');
  const records = await readAll('made.gz');
  expect(await book(`--replay ${file('made.gz')} --speed 100`, topics)).toBe(`${records.length} records\n`);
  await expect(book(`--replay ${file('made.gz')}`, topics)).rejects.toThrow('book.v1 is not empty: a projector may');

  const recording = startCommand(`npm run book -- --record ${file('recorded.gz')}`, topics);
  running.push(recording);
  const caughtUp = `${topics.TOPIC_PREFIX}limit-orders.book.v1 had ${records.length} records, and goes on until Ctrl-C`;
  await eventually(async () => recording.lines().includes(caughtUp), true);
  // The file can be read once it is closed.
  recording.signal('SIGINT');
  const lines = async (name: string, partition: number) =>
    (await readAll(name))
      .filter((record) => record.partition === partition)
      .map(({ timeMs: _, ...record }) => lineOf(record));
  for (const partition of [0, 1]) {
    await eventually<unknown>(() => lines('recorded.gz', partition), await lines('made.gz', partition));
  }
});

test('a router runs on a replayed feed without the service if the replay uses current times', async () => {
  const topics = topicsOf('fresh');
  const replay = startCommand(`npm run book -- --replay ${file('made.gz')} --speed 4 --fresh`, topics);
  running.push(replay);
  let reader = startCommand(router, topics);
  // The replay makes the topic.
  await eventually(async () => {
    try {
      return reader.lines().includes('FRESH');
    } catch {
      reader = startCommand(router, topics);
      return false;
    }
  }, true);
  running.push(reader);
  await eventually(async () => reader.lines().some((line) => /^ACTIVE .* fillOrder\(.* by anyone$/.test(line)), true);
});
