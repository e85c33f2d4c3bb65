import { describe, expect, test } from '@jest/globals';
import { bookEntry, bookRemovalReason } from './feeds.js';
import { type MakerEvent, makerEvent } from './maker-events.js';
import {
  bookRemovalHeaders,
  decodeAcknowledged,
  decodeBookRecord,
  decodeFill,
  decodeMakerEvent,
  decodeMakersRecord,
  encodeAcknowledged,
  encodeBookRecord,
  encodeFill,
  encodeMakerEvent,
  encodeMakersRecord,
  misplacement,
  traceOf,
} from './messages.js';
import { address } from './primitives.js';
import { type GoldenMessage, readGoldenMessages, withUnknownFields } from './testing/index.js';

const golden = readGoldenMessages();
const context = { id: 'id-1', source: '/makerbook/test', timeMs: 1_700_000_000_000 };

function inputOf({ headers, value }: GoldenMessage) {
  return { headers, value: value === null ? null : Buffer.from(value) };
}

function decodeGolden(message: GoldenMessage) {
  const decode = {
    'maker-events': decodeMakerEvent,
    book: decodeBookRecord,
    fills: decodeFill,
    makers: decodeMakersRecord,
    acks: decodeAcknowledged,
  }[message.topic];
  const record = decode(inputOf(message));
  if ('unreadable' in record) throw new Error(record.unreadable);
  return record;
}

function recode(message: GoldenMessage) {
  if (message.value === null) return recodeTombstone(message);
  const record = decodeGolden(message);
  switch (record.type) {
    case 'BookEntry':
    case 'BookClock':
      return encodeBookRecord(record, context);
    case 'Fill':
      return encodeFill(record, context);
    case 'MakerView':
    case 'ServiceView':
      return encodeMakersRecord(record, context);
    case 'BookAcknowledged':
      return encodeAcknowledged(record, context);
    default:
      return encodeMakerEvent(record, context);
  }
}

function recodeTombstone({ key, headers }: GoldenMessage) {
  const { removal, maker, position_partition: partition, position_offset: offset = '' } = headers;
  const headersAgain = bookRemovalHeaders(
    bookRemovalReason.parse(removal),
    address.parse(maker),
    { partition: Number(partition), offset },
    context,
  );
  return { key, value: null, headers: headersAgain };
}

function factOf<T extends 'OrderSubmitted' | 'BlockProcessed' | 'ServiceModeSet' | 'WatcherResigned'>(
  file: `${T}.v1.json`,
) {
  const [, message] = golden.find(([name]) => name === file) ?? [];
  if (message === undefined) throw new Error(`no golden message ${file}`);
  return decodeGolden(message) as Extract<MakerEvent, { type: T }>;
}

describe('messages on the log', () => {
  test.each(golden)('%s is read and written back byte for byte', (_file, message) => {
    const again = recode(message);
    expect(again.value?.toString() ?? null).toBe(message.value);
    expect(again.key).toBe(message.key);
    expect(again.headers).toEqual(message.headers);
  });

  test.each(golden.filter(([, { value }]) => value !== null))(
    '%s is read the same with the fields of a newer version',
    (_file, message) => {
      const value = JSON.stringify(withUnknownFields(JSON.parse(message.value ?? '')));
      expect(decodeGolden({ ...message, value })).toEqual(decodeGolden(message));
    },
  );

  test('every type and every status has a golden message', () => {
    const files = golden.map(([file]) => file);
    const events = makerEvent.options.map((option) => `${option.shape.type.value}.v1.json`);
    const entries = bookEntry.options.map((option) => `BookEntry-${option.shape.status.value}.v1.json`);
    const others = [
      'MakerView.v1.json',
      'MakerView-keys.v1.json',
      'MakerView-limits.v1.json',
      'MakerView-read.v1.json',
      'CancelKeysSet-read.v1.json',
      'ServiceView.v1.json',
      'BookClock.v1.json',
      'BookClock-book.v1.json',
      'BookClock-log.v1.json',
      'BookEntryRemoved.v1.json',
      'BookAcknowledged.v1.json',
      'Fill.v1.json',
      'MakerObserved-fills.v1.json',
      'MakerObserved-fill-tokens.v1.json',
      'MakerObserved-funds.v1.json',
      'MakerObserved-unread.v1.json',
      'MakerObserved-wallet.v1.json',
      'OrderSubmitted-wallet.v1.json',
      'BookEntry-wallet.v1.json',
      'MakerSuspended-reason.v1.json',
      'OrdersCancelled-any.v1.json',
      'SwitchSet-key.v1.json',
    ];
    expect(files.sort()).toEqual([...events, ...entries, ...others].sort());
  });

  test.each([
    ['no ce_type', {}, '{}', /ce_type is missing/],
    ['an unknown version', { ce_type: 'makerbook.OrderCancelled.v2' }, '{}', /not known here/],
    ['no value', { ce_type: 'makerbook.OrderCancelled.v1' }, null, /empty/],
    ['a missing field', { ce_type: 'makerbook.OrderCancelled.v1' }, '{}', /orderHash/],
    [
      'a checksummed address',
      { ce_type: 'makerbook.MakerAdmitted.v1' },
      '{"maker":"0xAb5801a7D398351b8bE11C439e05C5B3259aeC9B","cause":{"kind":"operator","commandId":"c"}}',
      /lowercase/,
    ],
  ])('a message with %s is unreadable and says why', (_name, headers: Record<string, string>, value, reason) => {
    const event = decodeMakerEvent({ headers, value: value === null ? null : Buffer.from(value) });
    expect('unreadable' in event && event.unreadable).toMatch(reason);
  });

  test('a fact in the wrong partition, or about another maker than its order, is reported as misplaced', () => {
    const submitted = factOf('OrderSubmitted.v1.json');
    const { maker } = submitted;
    const other = `0x${'5'.repeat(40)}` as const;
    const homeOf = (one: string) => (one === maker ? 3 : 1);
    expect(misplacement(submitted, 3, homeOf)).toBeUndefined();
    expect(misplacement(submitted, 1, homeOf)).toBe(`a fact about ${maker} belongs to partition 3, not 1`);
    expect(misplacement({ ...submitted, maker: other }, 1, homeOf)).toBe(
      `the order is ${maker}'s, the fact is about ${other}`,
    );
    for (const partition of [0, 3])
      expect(misplacement(factOf('BlockProcessed.v1.json'), partition, homeOf)).toBeUndefined();
    for (const fact of [factOf('ServiceModeSet.v1.json'), factOf('WatcherResigned.v1.json')]) {
      expect(misplacement(fact, 0, homeOf)).toBeUndefined();
      expect(misplacement(fact, 3, homeOf)).toBe(`a ${fact.type} belongs to partition 0, not 3`);
    }
  });
});

test('a message carries the trace of its context, and the trace can be read back', () => {
  const trace = {
    traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`,
    tracestate: 'vendor=1',
    baggage: 'tenant=a',
  };
  const fact: MakerEvent = { type: 'WatcherResigned' };
  const { headers } = encodeMakerEvent(fact, { ...context, trace });
  expect(headers).toMatchObject(trace);
  expect(traceOf(headers)).toEqual(trace);
  expect(traceOf(encodeMakerEvent(fact, context).headers)).toEqual({});
});
