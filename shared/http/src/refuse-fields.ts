import type { FieldProblem } from '@makerbook/contracts-http';
import type { Refusal } from './reply.js';

/** How many of the wrong places of a request are named. */
export const FIELD_PROBLEMS_MAX = 20;

/** Characters of a field's name that are named. */
const NAME_CHARACTERS_MAX = 100;

/** An error at one place of a request: an issue as zod reports it. */
export interface Issue {
  readonly path: readonly PropertyKey[];
  readonly message: string;
  /** Fields at the place that nobody knows. */
  readonly keys?: readonly string[];
}

/**
 * 400 `invalid_request` for a request of another shape: names the first wrong places, each with a JSON pointer (RFC 6901)
 * and a sentence, and the item that the first is in.
 * @param issues one or more
 */
export function refuseFields(issues: readonly Issue[]): Refusal {
  const errors = issues.slice(0, FIELD_PROBLEMS_MAX).flatMap(describeIssue);
  const [first = { pointer: '', detail: 'is not well-formed' }] = errors;
  const others = errors.length > 1 ? '; `errors` names what else is wrong' : '';
  const index = issues[0]?.path.find((part) => typeof part === 'number');
  return {
    code: 'invalid_request',
    detail: `${first.pointer === '' ? 'the body' : first.pointer} ${first.detail}${others}`,
    errors: errors.slice(0, FIELD_PROBLEMS_MAX),
    ...(index === undefined ? {} : { index }),
  };
}

function describeIssue({ path, message, keys }: Issue): FieldProblem[] {
  if (keys === undefined) return [{ pointer: pointerTo(path), detail: message }];
  const named = keys.slice(0, FIELD_PROBLEMS_MAX);
  return named.map((name) => ({ pointer: pointerTo([...path, name]), detail: 'is not a field of the request' }));
}

function pointerTo(path: readonly PropertyKey[]): string {
  return path
    .map((part) => `/${String(part).slice(0, NAME_CHARACTERS_MAX).replaceAll('~', '~0').replaceAll('/', '~1')}`)
    .join('');
}
