import { createHash } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { isRefusal } from '@makerbook/http';
import { admitReaders } from './admit-readers.js';

const hashOf = (key: string) => createHash('sha256').update(key).digest('hex');
const readerOf = (name: string, ...keys: readonly string[]) => ({
  name,
  keys: keys.map(hashOf),
  requestsPerSecond: 2,
  burst: 3,
  streamsMax: 2,
});

function open(...readers: readonly object[]) {
  const here = { text: readers.length === 0 ? '' : JSON.stringify(readers), ms: 0, faults: [] as string[] };
  const admitted = admitReaders({
    readFile: () => here.text,
    streamsMax: 3,
    monotonicMs: () => here.ms,
    onFault: ({ message }) => here.faults.push(message),
  });
  const admit = (key?: string) =>
    admitted.admit({ headers: key === undefined ? {} : { authorization: `Bearer ${key}` }, client: '192.0.2.1' });
  const ask = (key?: string) => {
    const reply = admit(key);
    return isRefusal(reply) ? reply.code : reply.name;
  };
  /** Takes a place for a stream, and notes when the stream is ended. */
  const take = (key?: string) => {
    const reader = admit(key);
    const room = isRefusal(reader) ? reader : reader.takeRoom();
    const stream = { room, isEnded: false };
    if (!isRefusal(room))
      room.enter(() => {
        stream.isEnded = true;
        room.leave();
      });
    return stream;
  };
  return { here, admitted, admit, ask, take };
}

test('without a file anyone may read, and no budget of a reader applies', () => {
  const { ask } = open();
  expect(Array.from({ length: 50 }, () => ask())).toEqual(new Array(50).fill('anyone'));
});

test('each reader is known by any of its keys, and nobody else is admitted', () => {
  const { ask } = open(readerOf('one', 'a', 'b'), readerOf('two', 'c'));
  expect(['a', 'b', 'c'].map(ask)).toEqual(['one', 'one', 'two']);
  expect([ask(), ask(''), ask('d'), ask(hashOf('a'))]).toEqual(new Array(4).fill('unauthorized'));
});

test('the extra cost of a request is charged, even beyond the end of the budget', () => {
  const { here, admit, ask } = open(readerOf('one', 'a'));
  const reader = admit('a');
  if (isRefusal(reader)) throw new Error(reader.detail);
  const told = () => reader.headers()['RateLimit'];
  expect(told()).toBe('"book"; r=2; t=1');
  reader.charge(4);
  expect(told()).toBe('"book"; r=0; t=2');
  const whenMs = (ms: number) => {
    here.ms = ms;
    return ask('a');
  };
  expect([0, 1_400, 1_600].map(whenMs)).toEqual(['rate_limited', 'rate_limited', 'one']);
});

test('each reader has its own budget, which refills', () => {
  const { here, admit, ask } = open(readerOf('one', 'a'), readerOf('two', 'c'));
  expect(Array.from({ length: 4 }, () => ask('a'))).toEqual(['one', 'one', 'one', 'rate_limited']);
  expect(ask('c')).toBe('two');
  expect(admit('a')).toMatchObject({
    headers: { 'Retry-After': '1', RateLimit: '"book"; r=0; t=1' },
  });
  here.ms = 500;
  expect([ask('a'), ask('a')]).toEqual(['one', 'rate_limited']);
});

test('a change of the file counts within a second, and an invalid one is reported and ignored', () => {
  const { here, ask } = open(readerOf('one', 'a'));
  here.text = JSON.stringify([readerOf('two', 'c')]);
  expect(ask('a')).toBe('one');
  here.ms = 1_000;
  expect([ask('a'), ask('c')]).toEqual(['unauthorized', 'two']);
  for (const wrong of ['{', '[{"name":"two"}]', JSON.stringify([readerOf('x', 'a'), readerOf('x', 'b')])]) {
    here.text = wrong;
    here.ms += 1_000;
    expect(ask('c')).toBe('two');
  }
  expect(here.faults).toHaveLength(3);
  expect(here.faults.map(String).join()).toContain('BOOK_READERS is not JSON');
  expect(() => open({ name: 'two' })).toThrow('BOOK_READERS');
});

test('a file that cannot be read is reported once, and the previous readers stay', () => {
  const { here, ask } = open(readerOf('one', 'a'));
  const { text } = here;
  const isGone = {
    get: (): string => {
      throw new Error('BOOK_READERS_FILE=/readers is empty');
    },
    configurable: true,
  };
  for (let outage = 0; outage < 2; outage += 1) {
    Object.defineProperty(here, 'text', isGone);
    for (let second = 0; second < 3; second += 1) {
      here.ms += 1_000;
      expect(ask('a')).toBe('one');
    }
    Object.defineProperty(here, 'text', { value: text, writable: true, configurable: true });
    here.ms += 1_000;
    expect(ask('a')).toBe('one');
  }
  expect(here.faults).toEqual(new Array(2).fill('BOOK_READERS_FILE=/readers is empty'));
});

test('streams are limited by reader and in total', () => {
  const { admitted, take } = open(readerOf('one', 'a'), readerOf('two', 'c'));
  const [first] = [take('a'), take('a')];
  expect(take('a').room).toMatchObject({ code: 'rate_limited' });
  take('c');
  expect(take('c').room).toMatchObject({ code: 'unavailable' });
  if (!isRefusal(first.room)) first.room.leave();
  expect(admitted.streams()).toEqual([
    ['one', 1],
    ['two', 1],
  ]);
});

test('a stream ends within a second after the key of its reader is removed', () => {
  const { here, admitted, take } = open(readerOf('one', 'old', 'new'), readerOf('two', 'c'));
  const streams = ['old', 'new', 'c'].map(take);
  const isEnded = () => streams.map((stream) => stream.isEnded);
  const change = (text: string) => {
    here.text = text;
    here.ms += 1_000;
    admitted.renew();
  };
  change('{');
  expect(isEnded()).toEqual([false, false, false]);
  change(JSON.stringify([readerOf('one', 'new')]));
  expect(isEnded()).toEqual([true, false, true]);
  change('');
  streams.push(take());
  change(JSON.stringify([readerOf('one', 'new')]));
  expect(isEnded()).toEqual([true, false, true, true]);
  expect(Object.fromEntries(admitted.streams())).toEqual({ one: 1, two: 0, anyone: 0 });
});
