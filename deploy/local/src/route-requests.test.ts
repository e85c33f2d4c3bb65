import { describe, expect, test } from '@jest/globals';
import { readRoutes, routeOf } from './route-requests.js';

const routes = readRoutes();
/** A gateway that compares decoded paths would take these for paths of another service. */
const oddPaths = [
  '/v0alpha/book/..%2flimit-orders',
  '/v0alpha/book/../limit-orders',
  '/v0alpha/./book',
  '/v0alpha//book',
  '/docs/%2E%2e/v0alpha/book/x',
  '/docs/%5c..',
  '/docs/\\..',
  '/v0alpha/%252e',
  '/v0%61lpha/book',
];

describe('the routing table', () => {
  test.each([
    ['GET', '/v0alpha/book/stream', 'feed'],
    ['POST', '/v0alpha/book', 'feed'],
    ['GET', '/v0alpha/limit-orders', 'query'],
    ['HEAD', '/v0alpha/limit-orders', 'query'],
    ['POST', '/v0alpha/limit-orders', 'ingress'],
    ['GET', '/v0alpha/limit-orders/x', 'query'],
    ['DELETE', '/v0alpha/limit-orders/x', 'ingress'],
    ['GET', '/v0alpha/other', 'ingress'],
    ['PATCH', '/v0/quote/data', 'ingress'],
    ['GET', '/v0', 'ingress'],
    ['GET', '/v0alpha/limit-orders/info', 'query'],
    ['POST', '/v0alpha/limit-orders/info', 'query'],
    ['GET', '/openapi.json', 'query'],
    ['GET', '/asyncapi.json', 'query'],
    ['GET', '/docs', 'query'],
    ['GET', '/docs/page.js', 'query'],
    ['GET', '/docs2', undefined],
    ['GET', '/', 'query'],
    ['GET', '//', undefined],
    ['GET', '/v00', undefined],
    ['GET', '/v0alphabet', undefined],
    ['POST', '/v1/quote/data', undefined],
    ['GET', '/v0alpha/book;a', 'ingress'],
    ['GET', '/v0alpha/limit-orders/info/', 'query'],
    ...oddPaths.map((path): [string, string, undefined] => ['GET', path, undefined]),
  ])('%s %s goes to %s', (method, path, service) => {
    expect(routeOf(routes, method, path)).toBe(service);
  });
});
