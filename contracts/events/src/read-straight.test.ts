import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { bookCause, bookEntry, bookRecord } from './feeds.js';
import { makerEvent } from './maker-events.js';
import { encodeBookRecord } from './messages.js';
import { readEntryStraight, readFactStraight } from './read-straight.js';

type Data = Record<string, unknown>;

const digits = (count: number) =>
  fc.string({ unit: fc.constantFrom(...'0123456789abcdef'), minLength: count, maxLength: count });
const hex = (count: number) => digits(count).map((text) => `0x${text}`);
const quantity = fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }).map((value) => `0x${value.toString(16)}`);
const whole = fc.maxSafeNat();
const amount = fc.record({ token: hex(40), amount: quantity });
const orderFields = { salt: quantity, nonce: quantity, expiresAt: quantity, making: amount, taking: amount };
const order = fc.record({ ...orderFields, maker: hex(40), permittedTaker: hex(40) });
const signature = fc.constantFrom(0, 128, 130, 2048).chain(hex);
const fact = {
  maker: hex(40),
  orderHash: hex(64),
  cause: fc.record({ kind: fc.constant('request'), requestId: fc.string({ minLength: 1, maxLength: 128 }) }),
};
const entry = {
  orderHash: hex(64),
  order,
  signature,
  remainingMakingAmount: quantity,
  routableUntil: whole,
  acceptedAtMs: whole,
  position: fc.record({ partition: whole, offset: fc.bigInt({ min: 0n, max: 2n ** 63n }).map(String) }),
  causes: fc.uniqueArray(fc.constantFrom(...bookCause.options)),
};
const funding = fc.record({ balance: quantity, allowance: quantity, block: whole });
const reason = fc.constantFrom('INSUFFICIENT_ALLOWANCE', 'INSUFFICIENT_BALANCE');
const kinds = {
  OrderSubmitted: fc.record({ ...fact, order, signature, acceptedAtMs: whole }),
  OrderCancelled: fc.record({ ...fact, expiresAtSeconds: whole }),
  BookEntry: fc.oneof(
    fc.record({ ...entry, status: fc.constant('VALIDATING') }),
    fc.record({ ...entry, status: fc.constant('ACTIVE'), funding }),
    fc.record({ ...entry, status: fc.constant('INACTIVE'), reason, funding }),
  ),
} satisfies Record<string, fc.Arbitrary<Data>>;
type Kind = keyof typeof kinds;

const read = (type: Kind, data: Data) => (type === 'BookEntry' ? readEntryStraight : readFactStraight)(type, data);
const schemaOf = (type: Kind) => (type === 'BookEntry' ? bookRecord : makerEvent);

test.each(Object.keys(kinds) as Kind[])('%s is read exactly as its schema reads it', (type) => {
  fc.assert(
    fc.property(kinds[type], (data: Data) => {
      expect(JSON.stringify(read(type, { ...data, later: 1 }))).toBe(
        JSON.stringify(schemaOf(type).parse({ ...data, type })),
      );
    }),
    { numRuns: 50 },
  );
});

test.each(Object.keys(kinds) as Kind[])('%s with a field that its schema refuses is not read', (type) => {
  const odd = fc.constantFrom<unknown>(
    ...[
      null,
      undefined,
      -1,
      0.5,
      2 ** 53,
      0,
      true,
      '',
      '0x',
      '0x00',
      '0X1',
      `0x${'A'.repeat(40)}`,
      `0x${'1'.repeat(65)}`,
    ],
    ...[
      [],
      {},
      ['FILLED', 'x'],
      '01',
      '-1',
      'x'.repeat(129),
      'ACTIVE',
      'INACTIVE',
      'VALIDATING',
      `0x${'1'.repeat(64)}\n`,
    ],
  );
  const path = fc.array(fc.nat(), { minLength: 1, maxLength: 3 });
  fc.assert(
    fc.property(kinds[type], path, odd, (data: Data, way, value) => {
      const changed = replaceIn(data, way, value);
      const parsed = schemaOf(type).safeParse({ ...changed, type });
      const straight = read(type, changed);
      if (!parsed.success) expect(straight).toBeUndefined();
      else if (straight !== undefined) expect(JSON.stringify(straight)).toBe(JSON.stringify(parsed.data));
    }),
    { numRuns: 500 },
  );
});

test('an entry is written as JSON.stringify would write it', () => {
  fc.assert(
    fc.property(kinds.BookEntry, (data: Data) => {
      const { value } = encodeBookRecord(bookEntry.parse({ ...data, type: 'BookEntry' }), {
        id: 'i',
        source: 's',
        timeMs: 0,
      });
      expect(String(value)).toBe(JSON.stringify(data));
    }),
    { numRuns: 50 },
  );
});

/** Returns the data with another value in the place that the numbers lead to. */
function replaceIn(data: Data, [first = 0, ...way]: readonly number[], value: unknown): Data {
  const names = Object.keys(data);
  const name = names[first % names.length] ?? '';
  const inner = data[name];
  const isInner = way.length > 0 && typeof inner === 'object' && inner !== null && !Array.isArray(inner);
  return { ...data, [name]: isInner ? replaceIn(inner as Data, way, value) : value };
}
