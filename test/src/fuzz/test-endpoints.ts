import { expect, test } from '@jest/globals';
import { type OpenStack, TEST_STACK_VARIABLE } from '../kit/open-stack.js';
import type { FuzzReport } from './fuzz-endpoints.js';
import { readReport } from './read-report.js';

const REQUESTS = '20000';
const SECONDS_MAX = '8';

/** Every seed that ever failed stands here, with its cause. */
const seeds = [1];

/** Mutated requests of all endpoints: as many as fit into the time. */
export function testEndpoints(stackOf: () => OpenStack): void {
  test.each(seeds)(
    'mutated requests are refused with a code of their operation, and makers are served in between (seed %d)',
    async (seed) => {
      const args = ['--seed', String(seed), '--requests', REQUESTS, '--seconds', SECONDS_MAX];
      const stack = { [TEST_STACK_VARIABLE]: stackOf().folder };
      const { failures, rounds, outcomes } = await readReport<FuzzReport>('run-fuzz.js', args, stack);
      expect(failures).toEqual([]);
      expect(rounds).toBeGreaterThan(0);
      expect(Object.keys(outcomes)).toEqual(
        expect.arrayContaining(['cancelOrders', 'listOrders', 'patchQuote', 'placeOrders']),
      );
    },
  );
}
