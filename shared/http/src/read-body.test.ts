import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { findExcess, type JsonBounds } from './read-body.js';

const bounds: JsonBounds = { depthMax: 4, membersMax: 3, valuesMax: 20 };
const excessOf = (text: string, given = bounds) => findExcess(Buffer.from(text), given);

/** Measures the parsed value instead. */
function measure(value: unknown): { depth: number; members: number; values: number } {
  if (typeof value !== 'object' || value === null) return { depth: 0, members: 0, values: 1 };
  const inner = Object.values(value).map(measure);
  const most = (figure: 'depth' | 'members') => inner.reduce((max, one) => Math.max(max, one[figure]), 0);
  const own = Array.isArray(value) ? 0 : inner.length;
  const values = inner.reduce((sum, one) => sum + one.values, 1);
  return { depth: 1 + most('depth'), members: Math.max(own, most('members')), values };
}

describe('the bounds of a JSON text', () => {
  test.each([
    ['', undefined],
    ['"text"', undefined],
    ['[[[[[]]]]]', 'the body is nested deeper than 4 levels'],
    ['[[[[[', 'the body is nested deeper than 4 levels'],
    ['{"a":1,"a":2,"a":3,"a":4}', 'an object of the body has more than 3 members'],
    [`[${'1,'.repeat(30)}1]`, 'the body holds more than 20 values'],
    ['"[[[[[[[[{{{{{{:::::::,,,,,,,,,,,,,,,,,,,,,,,,,,"', undefined],
    ['["\\"[[[[[[", "\\\\", "\\\\\\"[[[["]', undefined],
    ['"never ends [[[[[[[', undefined],
    [']]]]', undefined],
  ])('%s: %s', (text, excess) => {
    expect(excessOf(text)).toBe(excess);
  });

  test('agree with the parsed value, however it is formatted', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), fc.constantFrom(0, 1, '\t'), (value, indent) => {
        const { depth, members, values } = measure(value);
        const text = JSON.stringify(value, undefined, indent);
        // One value may be counted twice: at its opening bracket, and at the comma before it.
        const wide = { depthMax: depth, membersMax: members, valuesMax: 2 * values + 1 };
        expect(excessOf(text, wide)).toBeUndefined();
        if (depth > 0) expect(excessOf(text, { ...wide, depthMax: depth - 1 })).toMatch(/nested deeper/);
        if (members > 0) expect(excessOf(text, { ...wide, membersMax: members - 1 })).toMatch(/more than/);
        if (values > 1) expect(excessOf(text, { ...wide, valuesMax: values - 2 })).toMatch(/more than|deeper/);
      }),
      { numRuns: 500 },
    );
  });
});
