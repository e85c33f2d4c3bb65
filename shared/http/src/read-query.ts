import { z } from 'zod';
import { describeMisfit } from './parse-as.js';
import { type Issue, refuseFields } from './refuse-fields.js';
import type { Refusal } from './reply.js';

/**
 * Reads the parameters of a query by their schema: each is given once, those that are optional at most once, and no other
 * one. A list is comma-separated.
 * @param itemsMax of a list
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
