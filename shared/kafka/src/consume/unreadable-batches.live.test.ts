import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { findFreePort, startKafka } from '@makerbook/parts';
import { crc32c } from '@platformatic/kafka';
import type { StoredRecord } from '../log.js';
import { asRead, makeTopic, openTestLog, quiet, recordOf, until } from '../testing/open-test-log.js';

const UNKNOWN_CODEC = 5;

/** The record batches of a segment file, as parts of the same memory. */
function batchesOf(segment: Buffer): Buffer[] {
  const batches: Buffer[] = [];
  for (let at = 0; at < segment.length; at += batches.at(-1)?.length ?? 0) {
    batches.push(segment.subarray(at, at + 12 + segment.readInt32BE(at + 8)));
  }
  return batches;
}

test('a batch that cannot be decoded is parked as a whole, and every reader goes on behind it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'makerbook-kafka-'));
  const options = { dataDir: join(folder, 'data'), port: await findFreePort() };
  let kafka = await startKafka(options);
  const passed: object[] = [];
  const error = (described: object) => void passed.push(described);
  const log = openTestLog(kafka.brokers, { ...quiet, error });
  try {
    const topic = await makeTopic(log, 1);
    const parkedTopic = await makeTopic(log, 1);
    const appender = log.createAppender();
    for (const keys of [['a', 'b'], ['c', 'd'], ['e'], ['f'], ['g']]) {
      await appender.append(keys.map((key) => recordOf(topic, 0, key)));
    }
    await kafka.stop();
    const file = join(options.dataDir, 'log', `${topic}-0`, '00000000000000000000.log');
    const segment = readFileSync(file);
    const [, corrupt, , packed] = batchesOf(segment) as [Buffer, Buffer, Buffer, Buffer];
    corrupt.writeUInt8(corrupt.readUInt8(corrupt.length - 1) ^ 0xff, corrupt.length - 1);
    packed.writeInt16BE(packed.readInt16BE(21) | UNKNOWN_CODEC, 21);
    packed.writeUInt32BE(crc32c(packed.subarray(21)), 17);
    writeFileSync(file, segment);
    kafka = await startKafka(options);

    const followed: string[] = [];
    const following = log.followTopic({
      topic,
      from: 'beginning',
      onRecords: (_, records) => void followed.push(...records.map(({ key }) => key)),
    });
    await following.caughtUp;
    await following.stop();
    expect(followed).toEqual(['a', 'b', 'e', 'g']);
    expect(passed).toMatchObject([
      { topic, partition: 0, offset: 2n, nextOffset: 4n },
      { topic, partition: 0, offset: 5n, nextOffset: 6n },
    ]);

    let position = 0n;
    const handled: string[] = [];
    const fatals: Error[] = [];
    const consumer = log.consumePartitions({
      topic,
      parkedTopic,
      positionOf: async () => position,
      decode: asRead,
      handleBatch: async ({ fromOffset, nextOffset, records }) => {
        expect(fromOffset).toBe(position);
        position = nextOffset;
        handled.push(...records.map(({ key }) => key));
      },
      onFatal: (error) => void fatals.push(error),
    });
    consumer.assign(0);
    await until('all is handled', () => fatals.length > 0 || position === 7n);
    await consumer.stop();
    expect(fatals).toEqual([]);
    expect(handled).toEqual(['a', 'b', 'e', 'g']);

    const parked: StoredRecord[] = [];
    const readParked = log.followTopic({
      topic: parkedTopic,
      from: 'beginning',
      headerEncoding: 'utf8',
      onRecords: (_, records) => void parked.push(...records),
    });
    await readParked.caughtUp;
    await readParked.stop();
    const origin = { 'parked-topic': topic, 'parked-partition': '0' };
    expect(parked).toMatchObject([
      {
        key: '',
        value: corrupt,
        headers: { ...origin, 'parked-offset': '2', 'parked-next-offset': '4', 'parked-reason': 'the CRC is wrong' },
      },
      {
        key: '',
        value: packed,
        headers: {
          ...origin,
          'parked-offset': '5',
          'parked-reason': 'Unsupported compression algorithm with bitmask 5',
        },
      },
    ]);
  } finally {
    await log.close();
    await kafka.stop();
    rmSync(folder, { recursive: true, force: true });
  }
});
