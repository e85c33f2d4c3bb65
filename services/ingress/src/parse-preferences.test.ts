import { describe, expect, test } from '@jest/globals';
import { parseWait } from './parse-cancellations.js';

describe('the preference to wait', () => {
  test.each([
    ['wait=3', 3],
    ['Wait = 3', 3],
    ['respond-async, wait=2; x=1', 2],
    ['wait="4"', 4],
    [['handling=lenient', 'wait=1'], 1],
    ['wait=2, wait=5', 2],
    ['wait=60', 10],
    ['wait=0', 0],
  ])('%j is %d seconds', (prefer, seconds) => {
    expect(parseWait(prefer, 10)).toBe(seconds);
  });

  test.each([undefined, '', 'wait', 'wait=', 'wait=-1', 'wait=1.5', 'wait=1e3', 'await=3', 'wait=soon', 'x="wait=3"'])(
    '%j is none',
    (prefer) => {
      expect(parseWait(prefer, 10)).toBe(0);
    },
  );
});
