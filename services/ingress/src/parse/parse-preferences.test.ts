import { describe, expect, test } from '@jest/globals';
import { parseWait, prefersReceipt } from './parse-preferences.js';

describe('the preference to wait', () => {
  test.each([
    ['Wait = 3', 3],
    ['wait="4"', 4],
    [['handling=lenient', 'wait=1'], 1],
    ['wait=2, wait=5', 2],
    ['wait=60', 10],
  ])('%j is %d seconds', (prefer, seconds) => {
    expect(parseWait(prefer, 10)).toEqual({ seconds, isByRouter: false });
  });

  test.each([undefined, '', 'wait', 'wait=', 'wait=-1', 'wait=1.5', 'wait=1e3', 'await=3', 'wait=soon', 'x="wait=3"'])(
    '%j is none',
    (prefer) => {
      expect(parseWait(prefer, 10)).toEqual({ seconds: 0, isByRouter: false });
    },
  );
});

test.each([
  ['wait=3; by=router', true],
  ['receipt, Wait=3 ;x=1; By = "router" ', true],
  ['wait=3; by=routers', false],
  ['wait=3, by=router', false],
  ['wait=3; x=by=router', false],
])('%j waits for routers: %s', (prefer, isByRouter) => {
  expect(parseWait(prefer, 10)).toEqual({ seconds: 3, isByRouter });
});

describe('the preference for a receipt', () => {
  test.each([
    ['receipt', true],
    ['wait=2, receipt', true],
    [['wait=2', 'receipt'], true],
    ['wait=2', false],
    ['receipts', false],
    ['no-receipt', false],
    ['x=receipt', false],
  ])('%j is %s', (prefer, isPreferred) => {
    expect(prefersReceipt(prefer)).toBe(isPreferred);
  });
});
