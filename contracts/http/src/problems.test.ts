import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { examples } from './examples.js';
import { limitOrderRecord } from './orders.js';
import { type ProblemCode, problem, problemBody, problemKinds } from './problems.js';

describe('problems', () => {
  test.each(Object.keys(problemKinds) as ProblemCode[])('%s has a body of the documented form', (code) => {
    const body = problemBody(code, { detail: 'because', errors: [{ pointer: '/0', detail: 'no' }], index: 0 }, 'req-1');
    expect(problem.parse(JSON.parse(JSON.stringify(body)))).toEqual(body);
    const first = ['type', 'title', 'status', 'detail', 'code', 'requestId', 'retryable'];
    expect(Object.keys(body).slice(0, 7)).toEqual(first);
  });

  test("the makers' guide names the statuses that are retryable, and no others", () => {
    const guide = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
    const [, named = ''] = /A `retryable` one \(([^)]+)\)/.exec(guide) ?? [];
    const retryable = Object.values(problemKinds).flatMap((kind) => (kind.retryable ? String(kind.status) : []));
    expect(named.match(/\d+/g)).toEqual(retryable.toSorted());
  });
});

describe('bodies', () => {
  test('a record has a reason exactly when it is INACTIVE', () => {
    const inactive = { ...examples.placed[0], status: 'INACTIVE' };
    const reason = 'INSUFFICIENT_BALANCE';
    expect(limitOrderRecord.safeParse(inactive).success).toBe(false);
    expect(limitOrderRecord.safeParse({ ...inactive, reason }).success).toBe(true);
    expect(limitOrderRecord.parse({ ...inactive, status: 'ACTIVE', reason })).not.toHaveProperty('reason');
  });
});
