import { Agent, type IncomingHttpHeaders } from 'node:http';
import {
  allowOrigins,
  hasBody,
  internal,
  limitClients,
  openServer,
  type Refusal,
  Refused,
  readBody,
  requestIdOf,
  send,
  shareResult,
} from '@makerbook/http';
import express, { type NextFunction, type Request, type Response, type Router } from 'express';
import { askAllReadiness } from './check-readiness.js';
import type { GatewaySettings } from './gateway-env.js';
import { endToEnd, passRequest } from './pass-request.js';
import { type Route, routeOf } from './route-requests.js';

const REQUEST_TIMEOUT_MS = 10_000;
/** More than the connections of one address, each of which has one request under way: no client can take them all. */
const UPSTREAM_SOCKETS_MAX = 1_024;
const READINESS_AGE_MS_MAX = 1_000;
const DRAIN_MS = 10_000;

export type Gateway = {
  readonly port: number;
  /** Takes no new requests, lets those under way finish, cuts what is left after 10 s. */
  stop(): Promise<void>;
};

/**
 * The one base URL: passes each request to the service that its method and path belong to, unchanged, once it has
 * arrived whole: a slow client holds its own socket and nothing else. Answers `/livez` and `/readyz` for the stack.
 * Errors of its own are `application/problem+json`.
 * @param settings those that name a service are read at each request
 * @param log takes a line about each request that a service did not answer, or that failed here
 * @param local answers what is about this stack alone
 * @throws where the port cannot be had
 */
export async function runGateway(
  settings: GatewaySettings,
  routes: readonly Route[],
  log: (line: string) => void,
  local?: Router,
): Promise<Gateway> {
  const agent = new Agent({ keepAlive: true, maxSockets: UPSTREAM_SOCKETS_MAX });
  const targets = { ingress: 'INGRESS_URL', query: 'QUERY_URL', feed: 'FEED_URL' } as const;
  const readReadiness = shareResult(() => askAllReadiness(settings.OPS_URLS), READINESS_AGE_MS_MAX);
  const limit = { units: settings.GATEWAY_REQUESTS_MAX, windowSeconds: settings.CLIENT_WINDOW_SECONDS };
  const logError = (error: unknown) => log(error instanceof Error ? String(error.stack) : String(error));

  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('query parser', false);
  app.use(nameRequest);
  // For its own answers; those of the services have their own.
  for (const handler of allowOrigins(settings.CORS_ORIGINS)) app.use(handler);
  app.use(limitClients(limit, 'gateway', settings.BODY_BYTES_MAX, refuse));
  app.get('/livez', (_request, response) => void response.json({ status: 'ok', checks: {} }));
  app.get('/readyz', async (_request, response) => {
    const { isReady, checks } = await readReadiness();
    response.status(isReady ? 200 : 503).json({ status: isReady ? 'ok' : 'unavailable', checks });
  });
  if (local !== undefined) app.use(local);
  app.use(async (request: Request, response: Response, next: NextFunction) => {
    const service = routeOf(routes, request.method, request.path);
    if (service === undefined) return next();
    const body = hasBody(request) ? await readBody(request, settings.BODY_BYTES_MAX) : undefined;
    const fields = endToEnd(request.headers);
    const headers = { ...fields, 'x-forwarded-for': addClient(fields, request) };
    await passRequest(request, response, { target: settings[targets[service]], agent, headers, body });
  });
  app.use((request: Request, response: Response) =>
    refuse(request, response, { code: 'not_found', detail: `there is nothing at ${request.path}` }),
  );
  app.use((error: unknown, request: Request, response: Response, _next: NextFunction) => {
    const isRefused = error instanceof Refused;
    const { status, code } = error as { status?: number; code?: string };
    // A path that is no URL: Express reports it with a status below 500.
    const isClients = isRefused || status === 400;
    const isClientGone = response.destroyed && (isRefused || code === 'ERR_STREAM_PREMATURE_CLOSE');
    if (isClientGone) return;
    if (isRefused && error.refusal.code === 'unavailable') log(`${request.method} ${request.path}: ${error.message}`);
    if (!isClients) logError(error);
    // Where a part of the answer is sent, a cut connection alone shows that the rest is missing.
    if (response.headersSent) return void response.destroy();
    const other: Refusal = isClients ? { code: 'invalid_request', detail: 'the path is not well-formed' } : internal;
    refuse(request, response, isRefused ? error.refusal : other);
  });

  const server = await openServer(app, {
    host: settings.HOST,
    port: settings.PORT,
    headerBytesMax: settings.HEADER_BYTES_MAX,
    requestTimeoutMs: REQUEST_TIMEOUT_MS,
    drainMs: DRAIN_MS,
    connectionsPerAddressMax: settings.CONNECTIONS_PER_ADDRESS_MAX,
    hostNames: settings.HOST_NAMES,
    onFailed: logError,
  });
  return {
    port: server.port,
    async stop() {
      await server.stop();
      agent.destroy();
    },
  };
}

function nameRequest(request: Request, _response: Response, next: NextFunction): void {
  request.headers['x-request-id'] = requestIdOf(request);
  next();
}

/** X-Forwarded-For with the client's address last. With TRUSTED_PROXY_HOPS=1 services use the last entry. */
function addClient(fields: IncomingHttpHeaders, { socket }: Request): string {
  return [fields['x-forwarded-for'] ?? [], socket.remoteAddress ?? ''].flat().join(', ');
}

function refuse(request: Request, response: Response, refusal: Refusal): void {
  const requestId = String(request.headers['x-request-id']);
  response.setHeader('X-Request-Id', requestId);
  send(request, response, refusal, { requestId });
}
