import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, jest, test } from '@jest/globals';
import { findFreePorts, type KafkaPart, startKafka, testParts } from './index.js';
import { askKafka, int16, int32 } from './testing/delete-records.js';

// Processes are started several times: on a busy machine that takes its time.
jest.setTimeout(240_000);

const folder = mkdtempSync(join(tmpdir(), 'makerbook-kafka-'));
const started: KafkaPart[] = [];
const start = async (name: string, port: number) => {
  const part = await startKafka({ dataDir: join(folder, name), port });
  started.push(part);
  return part;
};

afterAll(async () => {
  for (const part of started) part.kill('SIGKILL');
  await Promise.all(started.map((part) => part.exited));
  rmSync(folder, { recursive: true, force: true });
});

describe('Kafka', () => {
  test('keeps its topics over a kill and a change of ports', async () => {
    const [first = 0, second = 0] = await findFreePorts(2);
    const before = await start('kept', first);
    await createTopic(first, 'kept-topic');
    before.kill('SIGKILL');
    await before.exited;
    const after = await start('kept', second);
    expect(await topicNames(second)).toContain('kept-topic');
    await after.stop();
  });

  test('creates no topic that nobody ordered', async () => {
    const port = Number(testParts().kafkaBrokers.split(':')[1]);
    const name = `never-ordered-${port}`;
    await ask(port, 3, 4, [int32(1), string(name), Buffer.from([1])]);
    expect(await topicNames(port)).not.toContain(name);
  });

  test('refuses a data folder that is not its own in one sentence that says what to do', async () => {
    const [port = 0] = await findFreePorts(1);
    mkdirSync(join(folder, 'broken', 'log'), { recursive: true });
    writeFileSync(join(folder, 'broken', 'log', 'meta.properties'), 'version=1\nnode.id=7\ncluster.id=other\n');
    await expect(start('broken', port)).rejects.toMatchObject({
      name: 'PartError',
      message: expect.stringMatching(/Kafka .*broken, move it away$/),
    });
  });

  test('names the port that is in use', async () => {
    const port = Number(testParts().kafkaBrokers.split(':')[1]);
    await expect(start('taken', port)).rejects.toMatchObject({
      message: `Kafka cannot listen: port ${port} is in use`,
    });
  });
});

// A few requests of Kafka's protocol, written out: the client library belongs to another package.

async function createTopic(port: number, name: string): Promise<void> {
  const topic = [string(name), int32(1), int16(1), int32(0), int32(0)];
  await ask(port, 19, 2, [int32(1), ...topic, int32(10_000), Buffer.from([0])]);
}

/** The answer with the names in it, as text. */
async function topicNames(port: number): Promise<string> {
  const answer = await ask(port, 3, 4, [int32(-1), Buffer.from([0])]);
  return answer.toString('latin1');
}

const ask = (port: number, api: number, version: number, body: Buffer[]) =>
  askKafka(`127.0.0.1:${port}`, api, version, body);

function string(value: string): Buffer {
  return Buffer.concat([int16(Buffer.byteLength(value)), Buffer.from(value)]);
}
