import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { findRoot } from './find-root.js';
import { fieldsOf, type OpenApi, requestWith, unbounded, wrongValuesOf } from './find-times.js';

const document = JSON.parse(readFileSync(join(findRoot(), 'contracts/http/openapi.json'), 'utf8')) as OpenApi;

test('every number that a request may name has bounds, and every time and duration a unit', () => {
  expect(unbounded(document)).toEqual([]);
});

test('a new field without bounds and unit is found', () => {
  const field = { type: 'integer', description: 'From then on' };
  const { HeartbeatInput, ...others } = document.components.schemas;
  const properties = { ...HeartbeatInput?.properties, sinceMs: field };
  const schemas = { ...others, HeartbeatInput: { ...HeartbeatInput, properties } };
  const name = 'post /v0alpha/limit-orders/heartbeat body /sinceMs';
  expect(unbounded({ ...document, components: { schemas } })).toEqual([`${name} has no bounds`, `${name} has no unit`]);
});

test('the times and durations that are tried are those of the interface', () => {
  const times = fieldsOf(document).filter(({ schema }) => schema['x-unit'] !== undefined);
  const names = [...new Set(times.map(({ pointer, preference }) => preference ?? pointer.slice(1)))].sort();
  const known = ['Valid-Until', 'Valid-Until-Ms', 'cancelAt', 'fromMs', 'issuedAtMs', 'toMs', 'untilMs', 'wait'];
  expect(names).toEqual(expect.arrayContaining([...known, 'windowSeconds']));
  const heartbeat = times.find(({ pointer }) => pointer === '/cancelAt');
  if (heartbeat === undefined) throw new Error('there is no switch');
  expect(wrongValuesOf(heartbeat, 1.8e12).map(({ value }) => value)).toEqual([1.8e12, 1, -1, 1.5, 2 ** 53, 4102444801]);
  expect(requestWith(heartbeat, 7)).toMatchObject({ method: 'POST', body: expect.stringContaining('"cancelAt":7') });
});
