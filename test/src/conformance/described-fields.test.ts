import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { findRoot } from './find-root.js';

type Json = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null;

/** Places of the fields of a document whose meaning it does not say: neither at the field nor at what the field refers to. */
function findUndescribed(document: Json): string[] {
  const resolve = (ref: string) =>
    ref
      .split('/')
      .slice(1)
      .reduce<unknown>((at, step) => (isObject(at) ? at[step] : undefined), document);
  const isDescribed = (schema: unknown): boolean =>
    isObject(schema) &&
    (typeof schema['description'] === 'string' ||
      (typeof schema['$ref'] === 'string' && isDescribed(resolve(schema['$ref']))));

  function visit(at: unknown, path: string): string[] {
    if (!isObject(at)) return [];
    const { properties, allOf } = at;
    // What stands beside `allOf` narrows the fields of another schema.
    const fields = isObject(properties) && allOf === undefined ? Object.entries(properties) : [];
    const undescribed = fields.filter(([, schema]) => !isDescribed(schema)).map(([name]) => `${path}: ${name}`);
    return [...undescribed, ...Object.entries(at).flatMap(([name, value]) => visit(value, `${path}/${name}`))];
  }
  return visit(document, '#');
}

describe.each(['contracts/http/openapi.json', 'contracts/events/asyncapi.json'])('%s', (file) => {
  const document = JSON.parse(readFileSync(join(findRoot(), file), 'utf8')) as Json;

  test('says of every field what it means', () => {
    expect(findUndescribed(document)).toEqual([]);
  });

  test('would be found to lack the meaning of a field', () => {
    const schema = { type: 'object', properties: { maker: { type: 'string' } } };
    expect(findUndescribed({ ...document, schema })).toEqual(['#/schema: maker']);
  });
});
