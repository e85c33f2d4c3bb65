import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { topicNames, topicSpecs } from '@makerbook/contracts-events';
import { connectLog, nameLog, type StoredRecord } from '@makerbook/kafka';
import { testParts } from '@makerbook/parts';
import { silentLogger } from '@makerbook/telemetry';
import { runArchive } from './archive-command.js';
import type { ArchiveCommand } from './parse-command.js';
import { readTopic } from './read-topic.js';

const PARTITIONS = 3;
const log = connectLog({
  brokers: testParts().kafkaBrokers.split(','),
  clientId: 'archive-test',
  logger: silentLogger,
});
const folders: string[] = [];
afterAll(async () => {
  await log.close();
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

let folder: string;
let from: string;
let to: string;
const newPrefix = () => `archive-${randomBytes(4).toString('hex')}.`;
const topicOf = (prefix: string) => topicNames(prefix).makerEvents;
const run = (prefix: string, verb: ArchiveCommand['verb']) =>
  runArchive(log, { do: 'log', verb, folder }, { prefix, partitions: PARTITIONS, replicationFactor: 1 });

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'makerbook-archive-'));
  folders.push(folder);
  [from, to] = [newPrefix(), newPrefix()];
  const specs = topicSpecs(topicNames(from), PARTITIONS).filter(({ name }) => name === topicOf(from));
  await log.createTopics(specs.map((spec) => ({ ...spec, replicationFactor: 1 })));
});

function recordsOf(partitions: readonly number[], count: number, prefix = from) {
  return partitions.flatMap((partition) =>
    Array.from({ length: count }, (_, index) => ({
      topic: topicOf(prefix),
      partition,
      key: `0x${'ab'.repeat(20)}`,
      value: index % 3 === 2 ? null : Buffer.from(index % 3 === 1 ? [0xff, 0xfe, index] : `{"n":"${index} €"}`),
      headers: { ce_type: 'makerbook.Test.v1', ce_id: `${partition}-${index}` },
    })),
  );
}

/** Records of every way into the log, with one control record, and several, between them and at both ends. */
async function fill(): Promise<void> {
  const ownPartitions = [0, 1].map((partition) => ({ topic: topicOf(from), partition }));
  const takeOver = () => {
    const publisher = log.createFencedPublisher({ transactionalId: `${from}owner`, ownPartitions });
    return publisher.takeOver().then(() => publisher);
  };
  const owner = await takeOver();
  const appender = log.createAppender();
  await appender.append(recordsOf([0], 5));
  await appender.append(recordsOf([0, 1], 2));
  await owner.append(recordsOf([0, 1], 7));
  await appender.append(recordsOf([0, 1], 1));
  for (let taken = 0; taken < 3; taken += 1) await takeOver();
  await appender.append(recordsOf([1], 1));
  await appender.append(recordsOf([0, 1], 3));
  // Its markers come behind the answer, and before it can be read.
  await readTopic(log, topicOf(from));
}

/** Without the topic's name. */
const contentOf = async (prefix: string) =>
  (await readTopic(log, topicOf(prefix))).map(({ topic: _, ...record }: StoredRecord) => record);

describe('an archive of the log', () => {
  test('is restored to an empty log with the same records at the same offsets and times, and the same ends', async () => {
    await fill();
    expect(await run(from, 'archive')).toMatchObject({ exitCode: 0 });
    expect(await run(to, 'restore')).toEqual({ lines: ['32 records in 3 partitions, at their offsets'], exitCode: 0 });
    const content = await contentOf(from);
    expect(content).toHaveLength(32);
    const ends = await log.endOffsets(topicOf(from));
    // Control records lie between.
    expect(ends.reduce((sum, end) => sum + end)).toBeGreaterThan(36n);
    expect(await contentOf(to)).toEqual(content);
    expect(await log.endOffsets(topicOf(to))).toEqual(ends);
    await log.verifyTopics(topicSpecs(topicNames(to), PARTITIONS).filter(({ name }) => name === topicOf(to)));
    for (const prefix of [from, to]) expect(await run(prefix, 'verify')).toMatchObject({ exitCode: 0 });
    // So cursors of the log hold.
    const nameOf = async (prefix: string) => {
      const places = ends.map((end, partition) => ({ place: { topic: topicOf(prefix), partition }, end }));
      return Promise.all(places.map(({ place, end }) => nameLog(log, place, end)));
    };
    expect(await nameOf(to)).toEqual(await nameOf(from));
  });

  test('grows by what is new, and one of nothing is restored as nothing', async () => {
    expect(await run(from, 'archive')).toMatchObject({ lines: ['0 records in 0 segments'] });
    expect(await run(to, 'restore')).toMatchObject({ exitCode: 0 });
    await fill();
    expect((await run(from, 'archive')).lines[0]).toMatch(/^32 records in 2 segments, the newest of /);
    expect(await run(from, 'archive')).toMatchObject({ lines: ['0 records in 0 segments'] });
    await log.createAppender().append(recordsOf([2], 1));
    expect((await run(from, 'archive')).lines[0]).toMatch(/^1 records in 1 segments/);
    expect(await run(to, 'restore')).toMatchObject({ exitCode: 0 });
    expect(await contentOf(to)).toEqual(await contentOf(from));
  });

  test('is restored in the rest where the restore broke off', async () => {
    await log.createAppender().append(recordsOf([0, 2], 4));
    await run(from, 'archive');
    await run(to, 'restore');
    await fill();
    await run(from, 'archive');
    expect(await run(to, 'restore')).toMatchObject({ lines: ['32 records in 3 partitions, at their offsets'] });
    expect(await contentOf(to)).toEqual(await contentOf(from));
  });

  test('without the right to alter the topic says what is to be set, before and behind the records', async () => {
    await fill();
    await run(from, 'archive');
    const bound = { ...log, alterTopic: () => Promise.reject(new Error('not allowed')) };
    const restore = () =>
      runArchive(
        bound,
        { do: 'log', verb: 'restore', folder },
        { prefix: to, partitions: PARTITIONS, replicationFactor: 1 },
      );
    const set = (type: string) => log.alterTopic(topicOf(to), { 'message.timestamp.type': type });
    const specs = topicSpecs(topicNames(to), PARTITIONS).filter(({ name }) => name === topicOf(to));
    await log.createTopics(specs.map((spec) => ({ ...spec, replicationFactor: 1 })));
    await expect(restore()).rejects.toThrow(/^set message.timestamp.type of .* to CreateTime, and run this again/);
    await set('CreateTime');
    await expect(restore()).rejects.toThrow(/^set message.timestamp.type of .* to LogAppendTime, and run this again/);
    await set('LogAppendTime');
    expect(await restore()).toMatchObject({ lines: ['0 records in 3 partitions, at their offsets'], exitCode: 0 });
    expect(await contentOf(to)).toEqual(await contentOf(from));
  });

  test('names the first record that is not the log’s, and is not restored over another log', async () => {
    await fill();
    await run(from, 'archive');
    await run(to, 'restore');
    await log.createAppender().append(recordsOf([2], 1, to));
    await log.createAppender().append(recordsOf([2], 2));
    await run(from, 'archive');
    const verified = await run(to, 'verify');
    expect(verified.exitCode).toBe(1);
    expect(verified.lines).toEqual([expect.stringMatching(/^partition 2 ends at 1, the archive at 2$/)]);
    await expect(run(to, 'restore')).rejects.toThrow(/^partition 2 differs at offset 0: .*Delete the topic/);
    await log.createAppender().append(recordsOf([2], 1, to));
    expect((await run(to, 'verify')).lines[0]).toMatch(/^partition 2 differs at offset 0/);
  });

  test('is refused where a file of it was changed, or is missing, and where it is of another log', async () => {
    await fill();
    await run(from, 'archive');
    const [file = ''] = readdirSync(join(folder, '0'));
    const path = join(folder, '0', file);
    const bytes = readFileSync(path);
    bytes[40] = (bytes[40] ?? 0) ^ 1;
    writeFileSync(path, bytes);
    await expect(run(from, 'verify')).rejects.toThrow(/0\/\d+\.jsonl\.gz is not the file that was written/);
    await expect(run(to, 'restore')).rejects.toThrow(/is not the file that was written/);
    rmSync(path);
    await expect(run(newPrefix(), 'restore')).rejects.toThrow(/cannot be read/);
    const other = newPrefix();
    await log.createTopics(
      topicSpecs(topicNames(other), PARTITIONS).map((spec) => ({ ...spec, replicationFactor: 1 })),
    );
    await expect(run(other, 'archive')).rejects.toThrow(/it is of another log/);
    folder = join(folder, 'none');
    await expect(run(from, 'restore')).rejects.toThrow(/holds no archive/);
  });
});
