import { describe, expect, test } from '@jest/globals';
import { findFreePorts, startKafka, testParts } from './index.js';
import { askKafka, int16, int32 } from './testing/delete-records.js';
import { openFolder } from './testing/open-folder.js';

const { inFolder, keep } = openFolder('kafka');
const start = (port: number) => keep(startKafka({ dataDir: inFolder('kept'), port }));

describe('Kafka', () => {
  test('keeps its topics over a kill and a change of ports', async () => {
    const [first = 0, second = 0] = await findFreePorts(2);
    const before = await start(first);
    await createTopic(first, 'kept-topic');
    before.kill('SIGKILL');
    await before.exited;
    await start(second);
    expect(await topicNames(second)).toContain('kept-topic');
  });

  test('creates no topic that nobody ordered', async () => {
    const port = Number(testParts().kafkaBrokers.split(':')[1]);
    const name = `never-ordered-${port}`;
    await ask(port, 3, 4, [int32(1), string(name), Buffer.from([1])]);
    expect(await topicNames(port)).not.toContain(name);
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
