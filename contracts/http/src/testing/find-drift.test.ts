import { describe, expect, test } from '@jest/globals';
import { examples } from '../examples.js';
import { type ProblemCode, problemBody } from '../problems.js';
import { type Exchange, findDrift } from './find-drift.js';

const url = (query: Record<string, unknown> = {}) => {
  const parameters = Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]);
  return new URL(`http://127.0.0.1:8080/v0alpha/limit-orders?${new URLSearchParams(parameters)}`);
};
const answerHeaders = (more: Record<string, string> = {}) =>
  new Headers({ 'X-Request-Id': 'r', 'Content-Type': 'application/json; charset=utf-8', ...more });
const listHeaders = (more: Record<string, string> = {}) => answerHeaders({ 'X-List-Version': '7', ...more });
const answered = (exchange: Exchange, body: unknown): Exchange => ({ ...exchange, answerBody: JSON.stringify(body) });

const post: Exchange = {
  method: 'POST',
  url: url(),
  requestHeaders: new Headers({ 'Content-Type': 'application/json', 'Valid-Until': '1800000000' }),
  requestBody: JSON.stringify(examples.placements),
  status: 200,
  answerHeaders: answerHeaders(),
  answerBody: JSON.stringify(examples.placed),
};
const get: Exchange = {
  ...post,
  method: 'GET',
  url: url(examples.listQuery),
  requestHeaders: new Headers(),
  requestBody: undefined,
  answerHeaders: listHeaders(),
  answerBody: JSON.stringify(examples.listed),
};
const remove: Exchange = {
  ...get,
  method: 'DELETE',
  url: url(examples.cancelQuery),
  answerBody: JSON.stringify(examples.cancelled),
};
const refusedWith = (code: ProblemCode): Exchange => {
  const body = problemBody(code, { detail: 'no' }, 'r');
  const headers = answerHeaders({ 'Content-Type': 'application/problem+json; charset=utf-8' });
  return { ...answered(get, body), status: body.status, answerHeaders: headers };
};
const asked = (body: unknown): Exchange => ({ ...post, requestBody: JSON.stringify(body) });

describe('an exchange', () => {
  test.each<[string, Exchange]>([
    [
      'an answer without its request id',
      { ...get, answerHeaders: new Headers({ 'Content-Type': 'application/json' }) },
    ],
    ['a header of another form', { ...get, answerHeaders: listHeaders({ 'X-Read-Lag': '-1' }) }],
    ['a field less', answered(get, [{ ...examples.listed[0], orderHash: undefined }])],
    ['a code that the operation does not answer', refusedWith('duplicate')],
    ['an accepted body with a field more', asked([{ ...examples.placements[0], more: 1 }])],
    ['an accepted query with a bad hash', { ...remove, url: url({ ...examples.cancelQuery, orderHashes: '0x1' }) }],
    ['an accepted header that is no time', { ...post, requestHeaders: new Headers({ 'Valid-Until': 'soon' }) }],
    ['HEAD with a body', { ...get, method: 'HEAD' }],
  ])('%s is drift', (_name, exchange) => {
    expect(findDrift(exchange)).not.toEqual([]);
  });
});
