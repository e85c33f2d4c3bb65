import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { oddPath } from '@makerbook/http';
import { z } from 'zod';

const routeSchema = z.strictObject({
  /** Any method unless given. */
  methods: z.array(z.string()).optional(),
  path: z.string().startsWith('/'),
  /** `prefix` takes the path itself and everything below it. */
  match: z.enum(['exact', 'prefix']),
  service: z.enum(['ingress', 'query', 'feed']),
});
const tableSchema = z.strictObject({ routes: z.array(routeSchema).min(1) });

export type Route = z.infer<typeof routeSchema>;
/** A service that answers requests. */
export type RoutedService = Route['service'];

/**
 * Reads `deploy/routes.json`, the routing table of all gateways. The first route that fits counts.
 * @throws Error if the file is not such a table
 */
export function readRoutes(): readonly Route[] {
  const file = join(import.meta.dirname, '..', '..', 'routes.json');
  return tableSchema.parse(JSON.parse(readFileSync(file, 'utf8'))).routes;
}

/**
 * Returns the service that a request belongs to.
 * @param path path as it came in, without the query string
 * @returns undefined if no route matches
 */
export function routeOf(routes: readonly Route[], method: string, path: string): RoutedService | undefined {
  if (oddPath.test(path)) return undefined;
  return routes.find((route) => fitsMethod(route, method) && fitsPath(route, path))?.service;
}

function fitsMethod(route: Route, method: string): boolean {
  return route.methods === undefined || route.methods.includes(method);
}

function fitsPath(route: Route, path: string): boolean {
  return path === route.path || (route.match === 'prefix' && path.startsWith(`${route.path}/`));
}
