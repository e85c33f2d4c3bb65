import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { topicNames, topicSpecs } from '@makerbook/contracts-events';
import { connectLog, nameLog, RESTORED_HEADER, type StoredRecord } from '@makerbook/kafka';
import { leaveTransactionOpen } from '@makerbook/kafka/testing';
import { findFreePort, openTcpGate, testParts, until } from '@makerbook/parts';
import { readSettings } from '@makerbook/settings';
import { silentLogger } from '@makerbook/telemetry';
import { addPart, mergeParts, type Newest } from './archive/open-archive.js';
import { openArchive, runArchive } from './archive-command.js';
import { followSettings } from './env.js';
import { followLog } from './follow-log.js';
import type { ArchiveCommand } from './parse-command.js';
import { readTopic } from './read-topic.js';

const PARTITIONS = 3;
const brokers = testParts().kafkaBrokers.split(',');
const log = connectLog({
  brokers,
  clientId: 'archive-test',
  logger: silentLogger,
});
const folders: string[] = [];
afterAll(async () => {
  await log.close();
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

let folder: string;
let key: string;
let head: string;
let from: string;
let to: string;
const newPrefix = () => `archive-${randomBytes(4).toString('hex')}.`;
const topicOf = (prefix: string) => topicNames(prefix).makerEvents;
const settingsOf = (prefix: string) => ({
  TOPIC_PREFIX: prefix,
  PARTITIONS,
  TOPIC_REPLICATION_FACTOR: 1,
  ARCHIVE_KEY: () => key,
  ARCHIVE_HEAD: head,
});
const run = (prefix: string, verb: ArchiveCommand['verb']) =>
  runArchive(log, { do: 'log', verb, folder, isFollowing: false }, settingsOf(prefix), Date.now());

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'makerbook-archive-'));
  folders.push(folder);
  [key, head] = ['', ''];
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

/** Appends records in every way, with one control record, or several, between them and at both ends. */
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
  // The markers come after the answer, and before the records can be read.
  await readWhole(from);
}

/** Reads all records, one partition after the other. */
async function readWhole(prefix: string): Promise<StoredRecord[]> {
  const all: StoredRecord[] = [];
  for await (const record of readTopic(log, topicOf(prefix))) all.push(record);
  return all;
}

/** Reads all records, and leaves out the topic's name and the header that a restore adds. */
const contentOf = async (prefix: string) =>
  (await readWhole(prefix)).map(({ topic: _, ...record }: StoredRecord) => {
    const { [RESTORED_HEADER]: __, ...headers } = record.headers;
    return { ...record, headers };
  });

describe('an archive of the log', () => {
  test('is restored to an empty log with the same records, offsets, times and ends', async () => {
    await fill();
    expect(await run(from, 'archive')).toMatchObject({ exitCode: 0 });
    const next = expect.stringMatching(/^now run `salvage`, before any service starts/);
    const told = ['32 records in 3 partitions, at their offsets', next];
    expect(await run(to, 'restore')).toEqual({ lines: told, exitCode: 0 });
    const content = await contentOf(from);
    expect(content).toHaveLength(32);
    const ends = await log.endOffsets(topicOf(from));
    // Control records lie between.
    expect(ends.reduce((sum, end) => sum + end)).toBeGreaterThan(36n);
    expect(await contentOf(to)).toEqual(content);
    expect(await log.endOffsets(topicOf(to))).toEqual(ends);
    await log.verifyTopics(topicSpecs(topicNames(to), PARTITIONS).filter(({ name }) => name === topicOf(to)));
    for (const prefix of [from, to]) expect(await run(prefix, 'verify')).toMatchObject({ exitCode: 0 });
    // The partitions have new names, so earlier cursors are gone.
    const namesOf = async (prefix: string) => {
      const places = ends.map((end, partition) => ({ place: { topic: topicOf(prefix), partition }, end }));
      return Promise.all(places.map(async ({ place, end }) => (await nameLog(log, place, end))?.name));
    };
    const [names, restored] = [await namesOf(from), await namesOf(to)];
    expect(restored.map((name, partition) => name === names[partition])).toEqual([false, false, true]);
    expect(names[2]).toBeUndefined();
  });

  test('grows by what is new', async () => {
    expect(await run(from, 'archive')).toMatchObject({ lines: ['0 records in 0 parts'] });
    await fill();
    expect((await run(from, 'archive')).lines[0]).toMatch(/^32 records in 1 parts, the newest of /);
    expect(await run(from, 'archive')).toMatchObject({ lines: ['0 records in 0 parts'] });
    await log.createAppender().append(recordsOf([2], 1));
    expect((await run(from, 'archive')).lines[0]).toMatch(/^1 records in 1 parts/);
    expect(await run(to, 'restore')).toMatchObject({ exitCode: 0 });
    expect(await contentOf(to)).toEqual(await contentOf(from));
  });

  test('is restored even with records that nearly fill a batch, after small and large ones', async () => {
    const appender = log.createAppender();
    const [record] = recordsOf([2], 1);
    if (record === undefined) throw new Error('there is none');
    const sized = (bytes: number) => ({ ...record, value: Buffer.alloc(bytes, 'x') });
    await appender.append(Array.from({ length: 420 }, () => sized(900)));
    for (const bytes of [520_000, 460_000, 460_000]) await appender.append([sized(bytes)]);
    await appender.close();
    await run(from, 'archive');
    expect((await run(to, 'restore')).lines[0]).toBe('423 records in 3 partitions, at their offsets');
    expect(await contentOf(to)).toEqual(await contentOf(from));
  });

  test('is restored from where an earlier restore broke off', async () => {
    await log.createAppender().append(recordsOf([0, 2], 4));
    await run(from, 'archive');
    await run(to, 'restore');
    await fill();
    await run(from, 'archive');
    // The restore was killed while it skipped the offset of a control record.
    const place = { topic: topicOf(to), partition: 0 };
    await leaveTransactionOpen(brokers, 'makerbook-operator-restore-0', place);
    expect((await run(to, 'restore')).lines[0]).toBe('32 records in 3 partitions, at their offsets');
    expect(await contentOf(to)).toEqual(await contentOf(from));
  });

  test('is restored only to a topic with the same number of partitions', async () => {
    await log.createAppender().append(recordsOf([0], 1));
    await run(from, 'archive');
    const specs = topicSpecs(topicNames(to), PARTITIONS - 1).filter(({ name }) => name === topicOf(to));
    await log.createTopics(specs.map((spec) => ({ ...spec, replicationFactor: 1 })));
    await expect(run(to, 'restore')).rejects.toThrow('has 2 partitions, and the archive 3: delete the topic');
  });

  test('says what to set before and after a restore that may not alter the topic', async () => {
    await fill();
    await run(from, 'archive');
    const bound = { ...log, alterTopic: () => Promise.reject(new Error('not allowed')) };
    const restore = () =>
      runArchive(bound, { do: 'log', verb: 'restore', folder, isFollowing: false }, settingsOf(to), Date.now());
    const set = (type: string) => log.alterTopic(topicOf(to), { 'message.timestamp.type': type });
    const specs = topicSpecs(topicNames(to), PARTITIONS).filter(({ name }) => name === topicOf(to));
    await log.createTopics(specs.map((spec) => ({ ...spec, replicationFactor: 1 })));
    await expect(restore()).rejects.toThrow(/^set message.timestamp.type of .* to CreateTime, and run this again/);
    await set('CreateTime');
    await expect(restore()).rejects.toThrow(/^set message.timestamp.type of .* to LogAppendTime, and run this again/);
    await set('LogAppendTime');
    expect((await restore()).lines[0]).toBe('0 records in 3 partitions, at their offsets');
    expect(await contentOf(to)).toEqual(await contentOf(from));
  });

  test('names the first record that differs from the log, and is not restored over another log', async () => {
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

  test('is refused if one of its files was changed or is missing, or if it is of another log', async () => {
    await fill();
    await run(from, 'archive');
    await log.createAppender().append(recordsOf([2], 1));
    await run(from, 'archive');
    const [first = '', second = ''] = readdirSync(folder);
    const path = join(folder, first);
    const bytes = readFileSync(path);
    const changed = Buffer.from(bytes);
    changed[changed.length - 9] = (changed.at(-9) ?? 0) ^ 1;
    writeFileSync(path, changed);
    await expect(run(from, 'verify')).rejects.toThrow(/^part 1 in .* is not what was written: its SHA-256 differs/);
    await expect(run(to, 'restore')).rejects.toThrow(/is not what was written/);
    // Another part with a right SHA-256 is not the one that the next part names.
    writeFileSync(path, Buffer.from(bytes.toString('latin1').replace('"records":', '"records": '), 'latin1'));
    await expect(run(newPrefix(), 'restore')).rejects.toThrow(/^part 2 of .* does not follow the part before it/);
    rmSync(path);
    await expect(run(newPrefix(), 'restore')).rejects.toThrow(/^part 1 of .* is missing/);
    writeFileSync(path, bytes);
    const other = newPrefix();
    await log.createTopics(
      topicSpecs(topicNames(other), PARTITIONS).map((spec) => ({ ...spec, replicationFactor: 1 })),
    );
    await expect(run(other, 'archive')).rejects.toThrow(/the archive belongs to another log/);
    await log.createAppender().append(recordsOf([0, 1, 2], 60, other));
    await expect(run(other, 'archive')).rejects.toThrow(/differs from .* at \d+: the archive belongs to another log/);
    rmSync(join(folder, second));
    writeFileSync(join(folder, 'manifest.json'), '{}');
    await expect(run(from, 'archive')).rejects.toThrow(
      /is an archive of an earlier release: begin a new one elsewhere/,
    );
    folder = join(folder, 'none');
    await expect(run(from, 'restore')).rejects.toThrow(/holds no archive/);
  });

  test('whose last parts are missing or replaced is refused because of the head kept elsewhere', async () => {
    const elsewhere = mkdtempSync(join(tmpdir(), 'makerbook-archive-'));
    folders.push(elsewhere);
    head = join(elsewhere, 'head.json');
    await log.createAppender().append(recordsOf([2], 1));
    await run(from, 'archive');
    await log.createAppender().append(recordsOf([2], 1));
    await run(from, 'archive');
    expect(await run(from, 'verify')).toMatchObject({ exitCode: 0 });
    const [, newest = ''] = readdirSync(folder);
    const bytes = readFileSync(join(folder, newest));
    rmSync(join(folder, newest));
    for (const verb of ['archive', 'verify', 'restore'] as const)
      await expect(run(from, verb)).rejects.toThrow(/ends at part 1, and .*head.json names part 2$/);
    // Put another part in its place.
    writeFileSync(
      join(folder, newest),
      Buffer.from(bytes.toString('latin1').replace('"records":', '"records": '), 'latin1'),
    );
    for (const verb of ['archive', 'verify', 'restore'] as const)
      await expect(run(from, verb)).rejects.toThrow(/^part 2 of .* is not the one that .*head.json names$/);
    rmSync(head);
    for (const verb of ['archive', 'verify', 'restore'] as const)
      await expect(run(from, verb)).rejects.toThrow(/head.json is missing, and .* has 2 parts$/);
  });

  test('is accepted only if it is signed and the public key matches', async () => {
    const pair = () => {
      const { privateKey, publicKey } = generateKeyPairSync('ed25519');
      const pem = { privateKey: { type: 'pkcs8', format: 'pem' }, publicKey: { type: 'spki', format: 'pem' } } as const;
      return {
        privateKey: String(privateKey.export(pem.privateKey)),
        publicKey: String(publicKey.export(pem.publicKey)),
      };
    };
    const [own, other] = [pair(), pair()];
    key = own.privateKey;
    await log.createAppender().append(recordsOf([0, 2], 2));
    await run(from, 'archive');
    key = own.publicKey;
    expect(await run(from, 'verify')).toMatchObject({ exitCode: 0 });
    expect(await run(to, 'restore')).toMatchObject({ exitCode: 0 });
    await log.createAppender().append(recordsOf([2], 1));
    await expect(run(from, 'archive')).rejects.toThrow('ARCHIVE_KEY is a public key: give the private one');
    key = other.publicKey;
    await expect(run(from, 'verify')).rejects.toThrow(/^part 1 in .* is not signed by the key/);
    key = '';
    await run(from, 'archive');
    key = own.publicKey;
    await expect(run(from, 'verify')).rejects.toThrow(/^part 2 in .* is not signed by the key/);
    key = 'none';
    await expect(run(from, 'verify')).rejects.toThrow(/^ARCHIVE_KEY is not an Ed25519 key in PEM/);
  });

  test('merges many parts into one file, and still holds the same records', async () => {
    const archive = openArchive(folder, PARTITIONS, settingsOf(from));
    let newest: Newest | undefined;
    await log.createAppender().append(recordsOf([0], 12));
    const records = await readWhole(from);
    for (const record of records)
      newest = await addPart(archive, newest, { to: [record.offset + 1n, 0n, 0n], records: [record] });
    expect(readdirSync(folder)).toHaveLength(12);
    const before = readdirSync(folder).slice(0, 1);
    await mergeParts(archive, 12);
    expect(readdirSync(folder)).toHaveLength(12);
    await mergeParts(archive, 11);
    const merged = ['000000000001-000000000011.parts', '000000000012-000000000012.parts'];
    expect(readdirSync(folder)).toEqual(merged);
    // As after a kill before the merged files are removed.
    for (const name of before) writeFileSync(join(folder, name), 'cut off');
    expect(await run(from, 'verify')).toMatchObject({ lines: [expect.stringMatching(/^12 records match the log/)] });
    await log.createAppender().append(recordsOf([1], 1));
    expect((await run(from, 'archive')).lines[0]).toMatch(/^1 records in 1 parts/);
    expect(await run(from, 'verify')).toMatchObject({ exitCode: 0 });
  });
});

describe('an archive that follows the log', () => {
  /** Follows the log, with ports and telemetry that nobody scrapes. */
  const serve = (environment: Record<string, string> = {}) =>
    followLog(
      folder,
      {
        ...readSettings(followSettings, {
          PARTITIONS: `${PARTITIONS}`,
          OPS_PORT: '0',
          KAFKA_BROKERS: testParts().kafkaBrokers,
          ...environment,
        }),
        ...settingsOf(from),
      },
      { logger: silentLogger, serveMetrics: (_, response) => void response.end() },
    );

  test('has each record within seconds, goes on after a stop, and two of them never write the same part', async () => {
    await fill();
    // A separate volume has such a folder.
    mkdirSync(join(folder, 'lost+found'));
    head = join(folder, '..', `${basename(folder)}-head`, 'head.json');
    const first = await serve();
    expect(first.archiving.ageMs()).toBe(Number.POSITIVE_INFINITY);
    await pause(3_000);
    expect(first.archiving.added().records).toBe(0);
    // The volume of the head comes later.
    mkdirSync(join(head, '..'));
    folders.push(join(head, '..'));
    await until(() => first.archiving.added().records === 32);
    await log.createAppender().append(recordsOf([2], 2));
    await until(() => first.archiving.added().records === 34);
    await until('it has caught up', () => first.archiving.ageMs() < 60_000);
    // The volume takes nothing for a time.
    renameSync(folder, `${folder}.away`);
    writeFileSync(folder, '');
    await log.createAppender().append(recordsOf([0, 1], 1));
    await until('it falls behind', () => first.archiving.ageMs() > 4_000);
    rmSync(folder);
    renameSync(`${folder}.away`, folder);
    await until(() => first.archiving.added().records === 36);
    const second = await serve();
    const ended = { message: '' };
    void Promise.race([first.failed, second.failed]).then(({ message }) => Object.assign(ended, { message }));
    // Append until their parts differ: two equal parts are one. They fetch twice a second, each at times of its own.
    const appender = log.createAppender();
    let count = 36;
    for (; ended.message === ''; count += 1) {
      await appender.append(recordsOf([2], 1));
      await pause(20);
    }
    expect(ended.message).toMatch(/^part \d+ of .* was written by another process/);
    await Promise.allSettled([first.stop(), second.stop()]);
    const third = await serve();
    const told = `${count} records match the log, which has 0 more offsets`;
    await until('all is archived', async () => (await run(from, 'verify')).lines.includes(told));
    await third.stop();
  });

  test('is alive and not ready while Kafka or its store is down at its start, and begins once both are back', async () => {
    await fill();
    const gate = await openTcpGate(`kafka://${testParts().kafkaBrokers}`);
    const opsPort = await findFreePort();
    const health = (path: string) => fetch(`http://127.0.0.1:${opsPort}${path}`).catch(() => undefined);
    const says = async (fault: RegExp) => fault.test((await (await health('/readyz'))?.text()) ?? '');
    try {
      await gate.shut();
      rmSync(folder, { recursive: true });
      writeFileSync(folder, '');
      const starting = serve({ KAFKA_BROKERS: new URL(gate.url).host, OPS_PORT: String(opsPort) });
      await until('it waits for Kafka', () => says(/"archive":"no broker/));
      expect([(await health('/livez'))?.status, (await health('/readyz'))?.status]).toEqual([200, 503]);
      await gate.open();
      await until('it waits for the folder', () => says(/"archive":"ENOTDIR/));
      rmSync(folder);
      const following = await starting;
      await until('it is ready', async () => (await health('/readyz'))?.status === 200);
      expect(following.archiving.added().records).toBe(32);
      await following.stop();
    } finally {
      await gate.close();
    }
  });
});
