import type { IncomingMessage } from 'node:http';
import { expect, test } from '@jest/globals';
import { encodingFor } from './send.js';

const encodingOf = (accepted?: string) =>
  encodingFor({ headers: { ...(accepted !== undefined && { 'accept-encoding': accepted }) } } as IncomingMessage);

test.each([
  [undefined, undefined],
  ['', undefined],
  ['br', 'br'],
  ['gzip, deflate, br, zstd', 'br'],
  ['GZIP ; Q=0.5', 'gzip'],
  ['br;q=0, gzip;q=0.001', 'gzip'],
  ['*', 'br'],
  ['br;q=0, *', 'gzip'],
  ['*;q=0', undefined],
  ['identity;q=1, *;q=0.000', undefined],
  ['brotli', undefined],
  [';,;;,q=1', undefined],
])('a request that accepts %j gets %s', (accepted, encoding) => {
  expect(encodingOf(accepted)).toBe(encoding);
});

test('only the first codings of a list count, so a long list costs no more', () => {
  expect(encodingOf(`${'a,'.repeat(10)}br`)).toBe('br');
  expect(encodingOf(`${'a,'.repeat(4_000)}br`)).toBeUndefined();
});
