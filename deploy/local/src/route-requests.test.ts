import { describe, expect, test } from '@jest/globals';
import { readRoutes, routeOf } from './route-requests.js';

const routes = readRoutes();

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
  ])('%s %s goes to %s', (method, path, service) => {
    expect(routeOf(routes, method, path)).toBe(service);
  });
});
