import { Agent } from 'node:http';
import { Readable } from 'node:stream';
import {
  allowOrigins,
  endWithClient,
  hasBody,
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
import { createProxyServer } from 'httpxy';
import { askAllReadiness } from './check-readiness.js';
import type { GatewaySettings } from './gateway-env.js';
import { type Route, type RoutedService, routeOf } from './route-requests.js';

const REQUEST_TIMEOUT_MS = 10_000;
const UPSTREAM_SILENCE_MS_MAX = 30_000;
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
 * The one base URL: passes each request to the service that its method and path belong to, unchanged, once it has arrived
 * whole: a slow client holds its own socket and nothing else. Answers `/livez` and `/readyz` for the stack. Errors
 * of its own are `application/problem+json`.
 * @param settings those that name a service are read at each request
 * @param log takes a line about each request that a service did not answer
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
  const proxy = openProxy(agent, log);
  const readReadiness = shareResult(() => askAllReadiness(settings.OPS_URLS), READINESS_AGE_MS_MAX);
  const limit = { units: settings.GATEWAY_REQUESTS_MAX, windowSeconds: settings.CLIENT_WINDOW_SECONDS };

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
    nameClient(request);
    await proxy(service, settings[targets[service]], request, response, body);
  });
  app.use((request: Request, response: Response) =>
    refuse(request, response, { code: 'not_found', detail: `there is nothing at ${request.path}` }),
  );
  app.use((error: unknown, request: Request, response: Response, _next: NextFunction) => {
    if (error instanceof Refused) return refuse(request, response, error.refusal);
    // A path that is no URL: Express reports it with a status below 500.
    const isClients = (error as { status?: number }).status === 400;
    if (!isClients) log(error instanceof Error ? String(error.stack) : String(error));
    const detail = 'the request could not be routed';
    refuse(request, response, { code: isClients ? 'invalid_request' : 'internal', detail });
  });

  const server = await openServer(app, {
    host: settings.HOST,
    port: settings.PORT,
    headerBytesMax: settings.HEADER_BYTES_MAX,
    requestTimeoutMs: REQUEST_TIMEOUT_MS,
    drainMs: DRAIN_MS,
    connectionsPerAddressMax: settings.CONNECTIONS_PER_ADDRESS_MAX,
  });
  return {
    port: server.port,
    async stop() {
      await server.stop();
      agent.destroy();
    },
  };
}

function openProxy(agent: Agent, log: (line: string) => void) {
  const proxy = createProxyServer({
    agent,
    proxyTimeout: UPSTREAM_SILENCE_MS_MAX,
    // A client's own "close" ends its connection to us, and none of ours to the services.
    headers: { connection: 'keep-alive' },
  });
  proxy.on('proxyRes', (answer, request, response) => {
    // These two are about the connection between gateway and service.
    delete answer.headers['keep-alive'];
    delete answer.headers.connection;
    if (answer.headers['content-type']?.startsWith('text/event-stream')) endWithClient(request, response);
  });
  return async (
    service: RoutedService,
    target: string,
    request: Request,
    response: Response,
    body: Buffer | undefined,
  ): Promise<void> => {
    delete request.headers.expect;
    delete request.headers['transfer-encoding'];
    if (body !== undefined) request.headers['content-length'] = String(body.length);
    try {
      await proxy.web(request, response, { target, buffer: Readable.from(body === undefined ? [] : [body]) });
    } catch (error) {
      log(`${service} did not answer ${request.method} ${request.path}: ${(error as Error).message}`);
      if (response.headersSent) {
        // The client has a part of the answer: only a cut connection shows that the rest is missing.
        response.destroy();
        return;
      }
      const detail = `the service behind this address (${service}) does not answer now`;
      refuse(request, response, { code: 'unavailable', detail });
    }
  };
}

function nameRequest(request: Request, _response: Response, next: NextFunction): void {
  request.headers['x-request-id'] = requestIdOf(request);
  next();
}

/** Appends the client's address to X-Forwarded-For. With TRUSTED_PROXY_HOPS=1 services use the last entry. */
function nameClient(request: Request): void {
  const before = request.headers['x-forwarded-for'];
  const client = request.socket.remoteAddress ?? '';
  request.headers['x-forwarded-for'] = before === undefined ? client : `${before}, ${client}`;
}

function refuse(request: Request, response: Response, refusal: Refusal): void {
  const requestId = String(request.headers['x-request-id']);
  response.setHeader('X-Request-Id', requestId);
  send(request, response, refusal, { requestId });
}
