import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import type { Operation } from './operation.js';
import { errorsOfAnyRequest, operations } from './operations.js';
import { problemKinds } from './problems.js';
import { assembleOpenApi } from './testing/assemble-openapi.js';

const text = readFileSync(new URL('../openapi.json', import.meta.url), 'utf8');

/** Finds every part of the document that has this key, with a JSON pointer to the part. */
function findAll(key: string, at: unknown, pointer = ''): { pointer: string; part: Record<string, unknown> }[] {
  if (typeof at !== 'object' || at === null) return [];
  const found = Object.entries(at).flatMap(([name, value]) =>
    findAll(key, value, `${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`),
  );
  return key in at ? [{ pointer, part: at as Record<string, unknown> }, ...found] : found;
}

const entries = Object.entries<Operation>(operations);

test('openapi.json is what `npm run generate -w @makerbook/contracts-http` writes', () => {
  expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(assembleOpenApi())));
});

test('the guide has a cause and a remedy for every error code', () => {
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
  const rows = [...readme.matchAll(/^\| (\d+) `(\w+)` \| .+ \| .+ \|$/gm)].map(([, status, code]) => [
    code,
    Number(status),
  ]);
  expect(rows).toEqual(Object.entries(problemKinds).map(([code, { status }]) => [code, status]));
});

describe('the document', () => {
  test('passes the linter', async () => {
    const rules = { 'no-invalid-parameter-examples': 'error', 'no-invalid-schema-examples': 'error' } as const;
    const config = await createConfig({ extends: ['recommended-strict'], rules });
    const problems = await lintFromString({ source: text, absoluteRef: 'openapi.json', config });
    expect(problems.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer])).toEqual([]);
  });

  test('has an example of every request body and of every answer', () => {
    expect(findAll('example', JSON.parse(text)).filter(({ part }) => 'schema' in part)).toHaveLength(8 + 22);
  });

  test('has one schema for all errors, so that generated clients have one class', () => {
    const problems = findAll('application/problem+json', JSON.parse(text)).map(({ part }) => part);
    expect(problems.length).toBeGreaterThan(30);
    const schema = { $ref: '#/components/schemas/Problem' };
    for (const content of problems) expect(content).toEqual({ 'application/problem+json': { schema } });
  });

  test.each(entries)('allows %s unknown fields in its answers, but not in its request', (_id, { path, method }) => {
    const { requestBody, responses } = JSON.parse(text).paths[path][method.toLowerCase()];
    expect(requestBody === undefined || closedIn(requestBody)).toBe(true);
    expect(closedIn(responses)).toBe(false);
  });
});

/** True if any object of a schema, also behind a reference, refuses other fields. */
function closedIn(part: unknown, seen = new Set<string>()): boolean {
  if (findAll('additionalProperties', part).some((found) => found.part['additionalProperties'] === false)) return true;
  return findAll('$ref', part).some((found) => {
    const ref = String(found.part['$ref']);
    if (seen.has(ref)) return false;
    const target = ref
      .split('/')
      .slice(1)
      .reduce((at, name) => at[name], JSON.parse(text));
    return closedIn(target, seen.add(ref));
  });
}

describe('the errors', () => {
  test('of all operations cover every code, and each operation can answer `internal`', () => {
    const documented = new Set<string>(Object.keys(errorsOfAnyRequest));
    for (const [, { errors }] of entries) for (const code of Object.keys(errors)) documented.add(code);
    expect([...documented].sort()).toEqual(Object.keys(problemKinds).sort());
    expect(entries.filter(([, { errors }]) => errors.internal === undefined)).toEqual([]);
  });
});
