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
/** Above the connection limit of one address: each has one request in flight, so no client can take all sockets. */
const UPSTREAM_SOCKETS_MAX = 1_024;
const READINESS_AGE_MS_MAX = 1_000;
const DRAIN_MS = 10_000;

export type Gateway = {
  readonly port: number;
  /** Takes no new requests, lets those in flight finish, and cuts those that are left after 10 s. */
  stop(): Promise<void>;
};

/**
 * Serves the one base URL. Passes each request unchanged to the service that its method and path belong to, once the
 * request has arrived whole: a slow client holds its own socket alone. Answers `/livez` and `/readyz` for the stack.
 * Its own errors are `application/problem+json`.
 * @param settings each request reads those that name a service again
 * @param log takes a line about each request that a service did not answer, or that failed here
 * @param local answers requests about this stack alone
 * @throws if it cannot listen on the port
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
  // Set CORS headers on the gateway's own answers. Those of the services have theirs.
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
    // Express reports a malformed path with status 400.
    const isClients = isRefused || status === 400;
    const isClientGone = response.destroyed && (isRefused || code === 'ERR_STREAM_PREMATURE_CLOSE');
    if (isClientGone) return;
    if (isRefused && error.refusal.code === 'unavailable') log(`${request.method} ${request.path}: ${error.message}`);
    if (!isClients) logError(error);
    // If part of the answer is sent, only a cut connection shows that the rest is missing.
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

/** Appends the client's address to X-Forwarded-For. With TRUSTED_PROXY_HOPS=1 services use the last entry. */
function addClient(fields: IncomingHttpHeaders, { socket }: Request): string {
  return [fields['x-forwarded-for'] ?? [], socket.remoteAddress ?? ''].flat().join(', ');
}

function refuse(request: Request, response: Response, refusal: Refusal): void {
  const requestId = String(request.headers['x-request-id']);
  response.setHeader('X-Request-Id', requestId);
  send(request, response, refusal, { requestId });
}
