import type { FieldProblem } from '@makerbook/contracts-http';
import { z } from 'zod';
import type { Refusal } from './reply.js';

/** The most wrong places of a request that are named. */
export const FIELD_PROBLEMS_MAX = 20;
/** The most characters of a field's name that are shown. */
const NAME_CHARACTERS_MAX = 100;

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

/** Says what is wrong to the sender of a request, if the schema has no words of its own. */
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

/** An error at one place of a request: an issue as zod reports it. */
export interface Issue {
  readonly path: readonly PropertyKey[];
  readonly message: string;
  /** Unknown fields at that place. */
  readonly keys?: readonly string[];
}

/**
 * 400 `invalid_request` for a request of the wrong shape. Names the first wrong places, each with a JSON pointer (RFC
 * 6901) and a sentence, and the index of the item that the first one is in.
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

/**
 * Reads the parameters of a query by their schema. Each must be given once, an optional one at most once, and no other
 * parameter. A list is comma-separated.
 * @param itemsMax the most items of a list
 * @returns their values; or 400 `invalid_request` with everything that is missing, wrong or unknown
 */
export function readQuery<S extends z.ZodObject>(
  query: URLSearchParams,
  schema: S,
  itemsMax = 0,
): z.output<S> | Refusal {
  const values: Record<string, unknown> = {};
  const issues: Issue[] = [];
  for (const [name, field] of Object.entries<z.ZodType>(schema.shape)) {
    const [text, ...more] = query.getAll(name);
    if (text === undefined && field.isOptional()) continue;
    if (text === undefined || more.length > 0) {
      issues.push({ path: [name], message: text === undefined ? 'is missing' : 'is given more than once' });
      continue;
    }
    const isList = field instanceof z.ZodArray;
    const items = isList && text !== '' ? text.split(',', itemsMax + 1) : [];
    if (items.length > itemsMax) {
      issues.push({ path: [name], message: `holds more than ${itemsMax} items` });
      continue;
    }
    const parsed = field.safeParse(isList ? items : text, { error: describeMisfit });
    if (parsed.success) values[name] = parsed.data;
    else issues.push(...parsed.error.issues.map(({ path, message }) => ({ path: [name, ...path], message })));
  }
  for (const name of new Set(query.keys())) {
    if (!Object.hasOwn(schema.shape, name)) issues.push({ path: [name], message: 'is not a parameter of the request' });
  }
  return issues.length > 0 ? refuseFields(issues) : (values as z.output<S>);
}
