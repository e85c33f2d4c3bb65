import type { FieldProblem } from '@makerbook/contracts-http';
import type { z } from 'zod';

/** How many of the wrong places of a request are named. */
export const FIELD_PROBLEMS_MAX = 20;

/** Characters of a field's name that are named. */
const NAME_CHARACTERS_MAX = 100;

/**
 * The first wrong places of a value, as the schema reports them: a JSON pointer (RFC 6901) and a sentence each.
 * @param at path of the value within the request
 */
export function fieldProblems({ issues }: z.ZodError, at: readonly PropertyKey[] = []): FieldProblem[] {
  return issues.flatMap((issue) => describeIssue(issue, [...at, ...issue.path])).slice(0, FIELD_PROBLEMS_MAX);
}

function describeIssue(issue: z.core.$ZodIssue, path: readonly PropertyKey[]): FieldProblem[] {
  if (issue.code !== 'unrecognized_keys') return [{ pointer: pointerTo(path), detail: issue.message }];
  const keys = issue.keys.slice(0, FIELD_PROBLEMS_MAX);
  return keys.map((name) => ({ pointer: pointerTo([...path, name]), detail: 'is not a field of the request' }));
}

function pointerTo(path: readonly PropertyKey[]): string {
  return path
    .map((part) => `/${String(part).slice(0, NAME_CHARACTERS_MAX).replaceAll('~', '~0').replaceAll('/', '~1')}`)
    .join('');
}
