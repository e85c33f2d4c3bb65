import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { encodeMakersRecord, type MakerView, type ServiceMode } from '@makerbook/contracts-events';
import type { Hex } from '@makerbook/contracts-primitives';
import { LogInMemory } from '@makerbook/kafka/testing';
import { until } from '@makerbook/parts';
import { silentLogger } from '@makerbook/telemetry';
import { followMakers, type Makers } from './follow-makers.js';

const topic = 'makers';
const maker: Hex = `0x${'a1'.repeat(20)}`;
const context = { id: '1', source: '/test', timeMs: 0 };
const partition = 1;
const log = new LogInMemory({ partitions: 2 });
let makers: Makers;

function show(view: Partial<MakerView> | null | 'nonsense'): void {
  const given = view === 'nonsense' ? {} : view;
  const position = { partition, offset: '0' };
  const full: MakerView = { type: 'MakerView', maker, admission: 'ADMITTED', nonce: null, position, ...given };
  const { headers, value } = encodeMakersRecord(full, context);
  const shown = view === null ? null : view === 'nonsense' ? Buffer.from('{}') : value;
  log.store([{ topic, partition, key: maker, value: shown, headers }]);
}

function showMode(mode: ServiceMode): void {
  const view = { type: 'ServiceView', mode, position: { partition: 0, offset: '0' } } as const;
  const { key, ...message } = encodeMakersRecord(view, context);
  log.store([{ topic, partition: 0, key: key ?? '', ...message }]);
}

beforeAll(() => {
  show({ nonce: '0x3' });
  makers = followMakers(log.connect(), topic, silentLogger, (error) => {
    throw error;
  });
});
afterAll(() => makers.stop());

describe('the makers of the feed', () => {
  test('are known once the feed is read to its end', async () => {
    await until(makers.isCaughtUp);
    expect(makers.admissionOf(maker)).toBe('ADMITTED');
    expect(makers.nonceOf(maker)).toBe(3n);
    expect(makers.admittedCount()).toBe(1);
    expect(makers.admissionOf(`0x${'b2'.repeat(20)}`)).toBe('UNKNOWN');
    expect(makers.nonceOf(`0x${'b2'.repeat(20)}`)).toBeUndefined();
  });

  test('have limits of their own if an operator set them', async () => {
    expect(makers.limitsOf(maker)).toEqual({});
    show({ nonce: '0x3', limits: { openOrdersMax: 5 } });
    await until(() => makers.limitsOf(maker).openOrdersMax === 5);
    expect(makers.limitsOf(`0x${'b2'.repeat(20)}`)).toEqual({});
  });

  test('have the keys of their newest record, and no keys if it has none', async () => {
    expect(makers.cancelKeysOf(maker)).toEqual([]);
    const cancelKeys: Hex[] = [`0x${'c3'.repeat(20)}`];
    show({ nonce: '0x3', cancelKeys });
    await until(() => makers.cancelKeysOf(maker).length > 0);
    expect(makers.cancelKeysOf(maker)).toEqual(cancelKeys);
    show({ nonce: '0x5' });
    await until(() => makers.nonceOf(maker) === 5n);
    expect([makers.cancelKeysOf(maker), makers.limitsOf(maker)]).toEqual([[], {}]);
    const key: Hex = `0x${'d4'.repeat(20)}`;
    show({ nonce: '0x6', listKeys: [key], streamKeys: [] });
    await until(() => makers.nonceOf(maker) === 6n);
    const rights = (['list', 'stream', 'history'] as const).map((what) => makers.mayRead(maker, key, what));
    expect(rights).toEqual([true, false, false]);
    expect([makers.mayRead(maker, maker, 'list'), makers.mayRead(key, key, 'list')]).toEqual([false, false]);
    show({ nonce: '0x3' });
  });

  test('may only cancel while an operator has turned orders off', async () => {
    expect(makers.isCancelOnly()).toBe(false);
    showMode('CANCEL_ONLY');
    await until(makers.isCancelOnly);
    expect(makers.admissionOf(maker)).toBe('ADMITTED');
    showMode('NORMAL');
    await until(() => !makers.isCancelOnly());
  });

  test('follow the feed, and an unreadable record leaves its maker unchanged', async () => {
    show('nonsense');
    show({ admission: 'SUSPENDED', nonce: '0x4' });
    await until(() => makers.admissionOf(maker) === 'SUSPENDED');
    expect(makers.nonceOf(maker)).toBe(4n);
    expect(makers.admittedCount()).toBe(0);
    show('nonsense');
    await new Promise(setImmediate);
    expect(makers.admissionOf(maker)).toBe('SUSPENDED');
    show(null);
    await until(() => makers.admissionOf(maker) === 'UNKNOWN');
  });
});
