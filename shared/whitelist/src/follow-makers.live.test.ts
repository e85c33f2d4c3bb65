import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { encodeMakerView, type MakerView, topicNames, topicSpecs } from '@makerbook/contracts-events';
import type { Hex } from '@makerbook/contracts-primitives';
import { connectLog, type Log, partitionOf } from '@makerbook/kafka';
import { testParts } from '@makerbook/parts';
import { silentLogger } from '@makerbook/telemetry';
import { followMakers, type Makers } from './follow-makers.js';

const names = topicNames(`whitelist-${randomBytes(4).toString('hex')}.`);
const maker: Hex = `0x${'a1'.repeat(20)}`;
const partition = partitionOf(maker, 2);
let log: Log;
let makers: Makers;

async function show(view: Partial<MakerView> | null | 'nonsense'): Promise<void> {
  const position = { partition, offset: '0' };
  const full: MakerView = { type: 'MakerView', maker, admission: 'ADMITTED', nonce: null, position };
  const message = encodeMakerView(
    { ...full, ...(view === 'nonsense' ? {} : view) },
    { id: '1', source: '/test', timeMs: 0 },
  );
  const value = view === null ? null : view === 'nonsense' ? Buffer.from('{}') : message.value;
  const appender = log.createAppender({ timeoutMs: 60_000 });
  await appender.append([{ topic: names.makers, partition, key: maker, value, headers: message.headers }]);
  await appender.close();
}

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setTimeout(resolve, 10));
}

beforeAll(async () => {
  log = connectLog({ brokers: testParts().kafkaBrokers.split(','), clientId: 'whitelist', logger: silentLogger });
  await log.createTopics(topicSpecs(names, 2).map((spec) => ({ ...spec, replicationFactor: 1 })));
  await show({ nonce: '0x3' });
  makers = followMakers(log, names.makers, silentLogger, (error) => {
    throw error;
  });
});

afterAll(async () => {
  await makers?.stop();
  await log?.close();
});

describe('the makers of the feed', () => {
  test('are known once the feed was read to its end', async () => {
    await until(makers.isCaughtUp);
    expect(makers.admissionOf(maker)).toBe('ADMITTED');
    expect(makers.nonceOf(maker)).toBe(3n);
    expect(makers.admittedCount()).toBe(1);
    expect(makers.admissionOf(`0x${'b2'.repeat(20)}`)).toBe('UNKNOWN');
    expect(makers.nonceOf(`0x${'b2'.repeat(20)}`)).toBeUndefined();
  });

  test('follow the feed, and a record that cannot be read leaves its maker as it was', async () => {
    await show('nonsense');
    await show({ admission: 'SUSPENDED', nonce: '0x4' });
    await until(() => makers.admissionOf(maker) === 'SUSPENDED');
    expect(makers.nonceOf(maker)).toBe(4n);
    expect(makers.admittedCount()).toBe(0);
    await show('nonsense');
    await show(null);
    await until(() => makers.admissionOf(maker) === 'UNKNOWN');
  });
});
