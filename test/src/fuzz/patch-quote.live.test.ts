import { expect, test } from '@jest/globals';
import { CPU_MS_MAX, type FuzzReport } from './patch-quote.js';
import { readReport } from './read-report.js';

const COUNT = 50_000;

/** Every seed that ever failed stands here, with its cause. */
const seeds = [1];

test.each(seeds)(
  'mutated quotes are refused with 4xx or patched so that the contract takes them (seed %d)',
  async (seed) => {
    const args = ['--seed', String(seed), '--count', String(COUNT)];
    const report = await readReport<FuzzReport>('run-patch-quote.js', args);
    expect(report.failures).toEqual([]);
    expect(report.count).toBe(COUNT);
    expect(report.worstCpuMs).toBeLessThan(CPU_MS_MAX);
    // None of the answers was out of reach of what was sent.
    expect(Object.keys(report.answers).sort()).toEqual([
      'field_not_exists',
      'invalid_date',
      'invalid_request',
      'invalid_signature',
      'no_changes',
      'ok',
    ]);
    expect(report.acceptedByContract).toBe(report.answers['ok']);
    expect(report.acceptedByContract).toBeGreaterThan(COUNT / 100);
    expect(report.throughHttp).toBeGreaterThan(COUNT / 60);
  },
  1_800_000,
);
