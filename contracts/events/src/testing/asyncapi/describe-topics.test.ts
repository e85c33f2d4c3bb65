import specs from '@asyncapi/specs';
import { describe, expect, test } from '@jest/globals';
import { Ajv } from 'ajv';
import {
  decodeAcknowledged,
  decodeBookRecord,
  decodeFill,
  decodeMakerEvent,
  decodeMakersRecord,
} from '../../messages.js';
import type { TopicNames } from '../../topics.js';
import { type GoldenMessage, openMessageCheck, readAsyncApi, readGoldenMessages, withUnknownFields } from '../index.js';
import { describeTopics } from './describe-topics.js';

const golden = readGoldenMessages();
const topics: Record<GoldenMessage['topic'], keyof TopicNames> = {
  'maker-events': 'makerEvents',
  book: 'book',
  fills: 'fills',
  makers: 'makers',
  acks: 'acks',
};
const ours = openMessageCheck('refused');
const anyVersion = openMessageCheck('allowed');

function messageOf({ key, headers, value }: GoldenMessage, change = (data: unknown) => data) {
  return { key, headers, value: value === null ? null : Buffer.from(JSON.stringify(change(JSON.parse(value)))) };
}

/** Yields the data with one of its fields removed, or one of its values replaced, at any depth. */
function* changesOf(data: unknown): Generator<unknown> {
  yield* [null, '', '0x', '0x00', '0X1', 'clock', -1, 0, 1.5, 2 ** 60, true, [], {}];
  if (Array.isArray(data)) {
    for (const [at, item] of data.entries()) for (const one of changesOf(item)) yield data.with(at, one);
  } else if (typeof data === 'object' && data !== null) {
    for (const [name, value] of Object.entries(data)) {
      const { [name]: _, ...others } = data as Record<string, unknown>;
      yield others;
      for (const one of changesOf(value)) yield { ...others, [name]: one };
    }
  }
}

describe('asyncapi.json', () => {
  test('is what the schemas and the topics say', () => {
    expect(readAsyncApi()).toEqual(describeTopics(golden));
  });

  test('is an AsyncAPI 3.0 document', () => {
    // The schema includes the schema of JSON Schema, so Ajv need not add its own.
    const ajv = new Ajv({ strict: false, validateFormats: false, meta: false, validateSchema: false });
    const validate = ajv.compile(specs.schemas['3.0.0'] as object);
    expect(validate(readAsyncApi()) ? [] : validate.errors).toEqual([]);
    expect(validate({ ...readAsyncApi(), channels: { book: { messages: 'none' } } })).toBe(false);
  });

  test('has no reference that leads nowhere', () => {
    const document = readAsyncApi();
    const refs = [...JSON.stringify(document).matchAll(/"\$ref":"#([^"]+)"/g)].map(([, path = '']) => path);
    const lost = refs.filter((path) => {
      const steps = path.split('/').slice(1);
      return (
        steps.reduce<unknown>((at, step) => (at as Record<string, unknown> | undefined)?.[step], document) === undefined
      );
    });
    expect(refs.length).toBeGreaterThan(50);
    expect(lost).toEqual([]);
  });

  test.each(golden)('allows %s, also with the fields of a newer version', (_file, message) => {
    const topic = topics[message.topic];
    expect(ours(topic, messageOf(message))).toBeUndefined();
    expect(anyVersion(topic, messageOf(message, withUnknownFields))).toBeUndefined();
    if (message.value !== null)
      expect(ours(topic, messageOf(message, withUnknownFields))).toMatch(/additional properties/);
  });

  test.each(golden)('refuses %s if one of its headers is missing, or under another key', (_file, message) => {
    const topic = topics[message.topic];
    const { key, headers, value } = messageOf(message);
    for (const name of Object.keys(headers)) {
      const others = Object.fromEntries(Object.entries(headers).filter(([one]) => one !== name));
      expect([name, anyVersion(topic, { key, value, headers: others })]).toEqual([name, expect.any(String)]);
    }
    expect(anyVersion(topic, { key: 'another', headers, value })).toMatch(/key/);
  });

  test.each(golden.filter(([, { value }]) => value !== null))(
    'refuses exactly those changes of %s that the decoder refuses',
    (_file, { topic, key, headers, value: text }) => {
      const decoders = {
        book: decodeBookRecord,
        fills: decodeFill,
        makers: decodeMakersRecord,
        acks: decodeAcknowledged,
      };
      const decode = { 'maker-events': decodeMakerEvent, ...decoders }[topic];
      const changes = [...changesOf(JSON.parse(text ?? ''))].map((data) => {
        const value = Buffer.from(JSON.stringify(data));
        const isRead = !('unreadable' in decode({ headers, value }));
        const isAllowed = anyVersion(topics[topic], { key, headers, value }) === undefined;
        return { data, isRead, isAllowed };
      });
      expect(changes.filter(({ isRead }) => !isRead).length).toBeGreaterThan(10);
      expect(changes.filter(({ isRead, isAllowed }) => isRead !== isAllowed)).toEqual([]);
    },
  );

  test('allows parked records and their resolutions, but no unknown resolution', () => {
    const origin = { 'parked-topic': 'limit-orders.maker-events.v1', 'parked-partition': '3', 'parked-offset': '7' };
    const parked = { ...origin, 'parked-reason': 'the value is not JSON', ce_type: 'makerbook.OrderEaten.v1' };
    expect(ours('parked', { key: 'any', headers: parked, value: Buffer.from('{') })).toBeUndefined();
    expect(ours('parked', { key: '', headers: { ...origin, resolution: 'discarded' }, value: null })).toBeUndefined();
    expect(ours('parked', { key: '', headers: { ...origin, resolution: 'eaten' }, value: null })).toMatch(/headers/);
  });
});
