import { describe, expect, test } from '@jest/globals';
import { examples } from '../examples.js';
import { problemBody } from '../problems.js';
import { type Exchange, findDrift } from './find-drift.js';

const url = (query = '') => new URL(`http://127.0.0.1:8080/v0alpha/limit-orders${query}`);
const answerHeaders = (more: Record<string, string> = {}) =>
  new Headers({ 'X-Request-Id': 'r', 'Content-Type': 'application/json; charset=utf-8', ...more });
const problemHeaders = answerHeaders({ 'Content-Type': 'application/problem+json; charset=utf-8' });
const queryOf = (query: Record<string, unknown>) =>
  `?${new URLSearchParams(Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]))}`;

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
  url: url(queryOf(examples.listQuery)),
  requestHeaders: new Headers(),
  requestBody: undefined,
  answerHeaders: answerHeaders({ 'X-List-Version': '7' }),
  answerBody: JSON.stringify(examples.listed),
};
const remove: Exchange = {
  ...get,
  method: 'DELETE',
  url: url(queryOf(examples.cancelQuery)),
  answerBody: JSON.stringify(examples.cancelled),
};
const refused: Exchange = {
  ...get,
  status: 403,
  answerHeaders: problemHeaders,
  answerBody: JSON.stringify(problemBody('request_expired', { detail: 'no' }, 'r')),
};

describe('an exchange', () => {
  test.each<[string, Exchange]>([
    ['POST', post],
    ['GET', get],
    ['DELETE', remove],
    ['a refusal', refused],
    ['a field more in the answer', { ...get, answerBody: JSON.stringify([{ ...examples.listed[0], more: 1 }]) }],
    ['HEAD', { ...get, method: 'HEAD', answerBody: '' }],
    [
      'GET of a list that the client has',
      { ...get, status: 304, answerHeaders: new Headers({ 'X-Request-Id': 'r' }), answerBody: '' },
    ],
    [
      'a path that is not there',
      {
        ...refused,
        url: new URL('http://x/y'),
        status: 404,
        answerBody: JSON.stringify(problemBody('not_found', { detail: 'no' }, 'r')),
      },
    ],
  ])('%s is as the document has it', (_name, exchange) => {
    expect(findDrift(exchange)).toEqual([]);
  });

  test.each<[string, Exchange]>([
    [
      'an answer without its request id',
      { ...get, answerHeaders: new Headers({ 'Content-Type': 'application/json' }) },
    ],
    [
      'an answer of another type',
      { ...get, answerHeaders: answerHeaders({ 'X-List-Version': '7', 'Content-Type': 'text/html' }) },
    ],
    [
      'a header of another form',
      { ...get, answerHeaders: answerHeaders({ 'X-List-Version': '7', 'X-Read-Lag': '-1' }) },
    ],
    ['a field less', { ...get, answerBody: JSON.stringify([{ ...examples.listed[0], orderHash: undefined }]) }],
    [
      'a code that the operation does not answer',
      { ...refused, answerBody: refused.answerBody.replaceAll('request_expired', 'duplicate') },
    ],
    ['a code at another status', { ...refused, status: 400 }],
    [
      'an accepted body with a field more',
      { ...post, requestBody: JSON.stringify([{ ...examples.placements[0], more: 1 }]) },
    ],
    ['an accepted query without a parameter', { ...get, url: url() }],
    [
      'an accepted query with a bad hash',
      { ...remove, url: url(queryOf({ ...examples.cancelQuery, orderHashes: '0x1' })) },
    ],
    ['an accepted header that is no time', { ...post, requestHeaders: new Headers({ 'Valid-Until': 'soon' }) }],
    ['HEAD with a body', { ...get, method: 'HEAD' }],
  ])('%s is drift', (_name, exchange) => {
    expect(findDrift(exchange)).not.toEqual([]);
  });
});
