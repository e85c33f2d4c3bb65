import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { operations } from '@makerbook/contracts-http';
import { type OpenStack, TEST_STACK_VARIABLE } from '../kit/open-stack.js';
import type { FuzzReport } from './fuzz-endpoints.js';

const REQUESTS = '6000';
const SECONDS_MAX = '120';

/** Every seed that ever failed is listed here, with its cause. */
const seeds = [1];

/** Tests mutated requests of all endpoints. */
export function testEndpoints(stackOf: () => OpenStack): void {
  test.each(seeds)(
    'mutated requests are refused with a code of their operation, and right ones are served in between (seed %d)',
    async (seed) => {
      // Use a separate process, because in Jest's module loader the same takes half as much CPU again.
      const command = new URL('run-fuzz.js', import.meta.url).pathname;
      const args = [command, '--seed', String(seed), '--requests', REQUESTS, '--seconds', SECONDS_MAX];
      const env = { ...process.env, [TEST_STACK_VARIABLE]: stackOf().folder };
      const running = promisify(execFile)(process.execPath, args, { env, maxBuffer: 1e8 });
      // Exit code 1 says that there are failures; the report holds them.
      const { stdout } = await running.catch((error: Error & { stdout?: string }) => {
        if (!error.stdout) throw error;
        return { stdout: error.stdout };
      });
      const { failures, outcomes } = JSON.parse(stdout) as FuzzReport;
      expect(failures).toEqual([]);
      expect(Object.keys(outcomes).sort()).toEqual(Object.keys(operations).sort());
      for (const operation of [
        'cancelOrders',
        'listOrders',
        'patchQuote',
        'placeOrders',
        'replaceOrders',
        'streamOrders',
      ])
        expect([operation, outcomes[operation]?.['200']]).toEqual([operation, expect.any(Number)]);
    },
  );
}
