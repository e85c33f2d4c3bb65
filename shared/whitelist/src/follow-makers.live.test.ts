import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  encodeMakersRecord,
  type MakerView,
  type ServiceMode,
  topicNames,
  topicSpecs,
} from '@makerbook/contracts-events';
import type { Hex } from '@makerbook/contracts-primitives';
import { connectLog, type LogRecord, partitionOf } from '@makerbook/kafka';
import { testParts, until } from '@makerbook/parts';
import { silentLogger } from '@makerbook/telemetry';
import { followMakers, type Makers } from './follow-makers.js';

const names = topicNames(`whitelist-${randomBytes(4).toString('hex')}.`);
const maker: Hex = `0x${'a1'.repeat(20)}`;
const context = { id: '1', source: '/test', timeMs: 0 };
const partition = partitionOf(maker, 2);
const log = connectLog({ brokers: testParts().kafkaBrokers.split(','), clientId: 'whitelist', logger: silentLogger });
let makers: Makers;

async function show(view: Partial<MakerView> | null | 'nonsense'): Promise<void> {
  const given = view === 'nonsense' ? {} : view;
  const position = { partition, offset: '0' };
  const full: MakerView = { type: 'MakerView', maker, admission: 'ADMITTED', nonce: null, position, ...given };
  const { headers, value } = encodeMakersRecord(full, context);
  const shown = view === null ? null : view === 'nonsense' ? Buffer.from('{}') : value;
  await append({ partition, key: maker, value: shown, headers });
}

async function showMode(mode: ServiceMode): Promise<void> {
  const view = { type: 'ServiceView', mode, position: { partition: 0, offset: '0' } } as const;
  const { key, ...message } = encodeMakersRecord(view, context);
  await append({ partition: 0, key: key ?? '', ...message });
}

async function append(record: Omit<LogRecord, 'topic'>): Promise<void> {
  const appender = log.createAppender({ timeoutMs: 60_000 });
  await appender.append([{ topic: names.makers, ...record }]);
  await appender.close();
}

beforeAll(async () => {
  await log.createTopics(topicSpecs(names, 2).map((spec) => ({ ...spec, replicationFactor: 1 })));
  await show({ nonce: '0x3' });
  makers = followMakers(log, names.makers, silentLogger, (error) => {
    throw error;
  });
});

afterAll(async () => {
  await makers?.stop();
  await log.close();
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

  test('have limits of their own where an operator gave them some', async () => {
    expect(makers.limitsOf(maker)).toEqual({});
    await show({ nonce: '0x3', limits: { openOrdersMax: 5 } });
    await until(() => makers.limitsOf(maker).openOrdersMax === 5);
    expect(makers.limitsOf(`0x${'b2'.repeat(20)}`)).toEqual({});
  });

  test('may place no orders while an operator has the whole service take none', async () => {
    expect(makers.isCancelOnly()).toBe(false);
    await showMode('CANCEL_ONLY');
    await until(makers.isCancelOnly);
    expect(makers.admissionOf(maker)).toBe('ADMITTED');
    await showMode('NORMAL');
    await until(() => !makers.isCancelOnly());
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
