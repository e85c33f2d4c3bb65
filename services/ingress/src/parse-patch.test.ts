import { expect, test } from '@jest/globals';
import { quotePatchInput } from '@makerbook/contracts-http';
import fc from 'fast-check';
import { parsePatch } from './parse-patch.js';
import { isRefusal } from './refusal.js';

const amounts = fc.oneof(
  fc.constantFrom<unknown>('', '0x', '0', '00', '1.0', '-1', ' 1', '1\n', 1, null, true, '0XFF', '0xg', 'ff', [], {}),
  fc.bigInt({ min: 0n, max: 2n ** 257n }).map(String),
  fc.bigInt({ min: 0n, max: 2n ** 260n }).map((value) => `0x${value.toString(16)}`),
  fc.string({ maxLength: 80 }),
);
const minimums = fc.oneof(
  { weight: 6, arbitrary: amounts.map((amount) => ({ amount })) },
  fc.record({ amount: amounts, more: fc.constant(1) }, { requiredKeys: [] }),
  fc.constantFrom<unknown>(null, 'x', 5, [], [{ amount: '1' }]),
);
const bodies = fc.oneof(
  { weight: 8, arbitrary: fc.record({ data: fc.string(), minOutput: minimums }, { requiredKeys: ['data'] }) },
  fc.record({ data: fc.jsonValue(), minOutput: minimums, more: fc.constant(1) }, { requiredKeys: [] }),
  fc.jsonValue(),
);

test('the parser and the schema of the contract take the same bodies, and read the same amounts', () => {
  fc.assert(
    fc.property(bodies, (body) => {
      const parsed = parsePatch(body);
      const judged = quotePatchInput.safeParse(body);
      expect(isRefusal(parsed)).toBe(!judged.success);
      if (!judged.success || isRefusal(parsed)) return;
      const amount = judged.data.minOutput?.amount;
      expect(parsed).toEqual({ data: judged.data.data, minOutput: amount === undefined ? undefined : BigInt(amount) });
    }),
    { numRuns: 2_000 },
  );
});
