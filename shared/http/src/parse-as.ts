import type { z } from 'zod';
import { refuseFields } from './refuse-fields.js';
import type { Refusal } from './reply.js';

/**
 * Reads a part of a request by its schema.
 * @returns its value; or 400 `invalid_request` with the places that are wrong
 */
export function parseAs<S extends z.ZodType>(schema: S, value: unknown): z.output<S> | Refusal {
  const parsed = schema.safeParse(value, { error: describeMisfit });
  return parsed.success ? parsed.data : refuseFields(parsed.error.issues);
}

type RawIssue = Parameters<z.core.$ZodErrorMap>[0];

const names: Readonly<Record<string, string>> = { object: 'an object', array: 'an array', string: 'a string' };

/** What is wrong in words for the sender of a request, where the schema has none of its own. */
export function describeMisfit(issue: RawIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined ? 'is missing' : `must be ${names[issue.expected] ?? `a ${issue.expected}`}`;
    case 'invalid_value':
      return `must be one of ${issue.values.join(', ')}`;
    case 'too_big':
      return `must have at most ${issue.maximum} ${issue.origin === 'array' ? 'items' : 'characters'}`;
    case 'too_small':
      return `must have at least ${issue.minimum} ${issue.origin === 'array' ? 'items' : 'characters'}`;
    default:
      return 'has a form that is not allowed here';
  }
}
