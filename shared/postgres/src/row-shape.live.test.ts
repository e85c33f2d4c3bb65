import { afterAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { RowShape } from './row-shape.js';
import { openTestDatabase } from './testing/open-test-database.js';

const { postgres, close } = await openTestDatabase('projector');
afterAll(close);

const shape = new RowShape({
  orderHash: 'bytea',
  logOffset: 'bigint',
  seconds: 'number',
  count: 'integer',
  amount: 'numeric',
  reason: 'text',
  isOpen: 'boolean',
  limits: 'jsonb',
});

const bytes = fc.uint8Array({ maxLength: 40 }).map((value) => `0x${Buffer.from(value).toString('hex')}`);
const row = fc.record({
  orderHash: fc.option(bytes),
  logOffset: fc.option(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })),
  seconds: fc.option(fc.maxSafeInteger()),
  count: fc.option(fc.integer()),
  amount: fc.option(fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }).map(String)),
  reason: fc.option(fc.string({ unit: 'grapheme' }).map((text) => text.replaceAll('\0', ''))),
  isOpen: fc.option(fc.boolean()),
  limits: fc.option(fc.dictionary(fc.constantFrom('a', 'ä', '"'), fc.nat())),
});

test('rows that are sent as arrays are read back the same, whatever they hold', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(row, { maxLength: 20 }), async (rows) => {
      const stored = await postgres.query(`select * from ${shape.given(1)}`, shape.toArrays(rows));
      expect(stored.map((one) => shape.read(one))).toEqual(rows.map((one) => ({ ...one })));
    }),
  );
});
