import { randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { isTraceparent, type Logger, metrics } from '@makerbook/telemetry';
import express, { type NextFunction, type Request, type Response } from 'express';
import { ipKeyGenerator, rateLimit } from 'express-rate-limit';
import { readJson } from './read-json.js';
import { type ApiRequest, type Refusal, type Reply, toWire } from './reply.js';

/** One method at one path. A thrown error is a bug: it is logged and answered with 500. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'DELETE' | 'PATCH';
  readonly path: string;
  /** Whether the request carries a JSON body. */
  readonly takesJson: boolean;
  /** A limit of the route's own, instead of the one that the others share; judged before the body is read. */
  readonly clientLimit?: ClientLimit & { readonly name: string };
  readonly handle: (request: ApiRequest) => Promise<Reply>;
}

/** Requests of one client address within a window. */
export interface ClientLimit {
  readonly requests: number;
  readonly windowSeconds: number;
}

export interface ApiOptions {
  readonly routes: readonly Route[];
  readonly port: number;
  readonly logger: Logger;
  /** A larger body is refused with 413. */
  readonly bodyBytesMax: number;
  /** Request line and headers together; a DELETE of 100 orders has a query of 20 kB. */
  readonly headerBytesMax: number;
  /** A request that has not arrived whole by then is refused, so that no socket hangs. */
  readonly requestTimeoutMs: number;
  /** How many proxies stand in front and may say who the client is. */
  readonly trustedProxyHops: number;
  /** Over all routes that have none of their own. */
  readonly clientLimit: ClientLimit;
}

/** An API that listens. */
export interface ApiServer {
  readonly port: number;
  /** Takes no new requests, lets those under way finish, cuts what is left after `drainMs`. */
  readonly stop: (drainMs: number) => Promise<void>;
}

/**
 * Serves routes over HTTP: request ids, JSON bodies, limits, and every error as `application/problem+json`. Never HTML,
 * never a stack. Rate limit headers are those of the IETF draft (draft 8).
 * @throws where the port cannot be had
 */
export async function serveApi(options: ApiOptions): Promise<ApiServer> {
  const server = createServer(
    {
      maxHeaderSize: options.headerBytesMax,
      requestTimeout: options.requestTimeoutMs,
      headersTimeout: options.requestTimeoutMs,
      connectionsCheckingInterval: 1000,
    },
    createApp(options),
  );
  server.on('clientError', answerBrokenRequest);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, () => resolve());
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the API listens on no TCP port');
  return { port: address.port, stop: (drainMs) => stopServer(server, drainMs) };
}

/** Closes a server: idle connections at once, the others when they have been answered, at the latest after `drainMs`. */
export async function stopServer(server: Server, drainMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  const idleSweep = setInterval(() => server.closeIdleConnections(), 50);
  const cut = setTimeout(() => server.closeAllConnections(), drainMs);
  await closed;
  clearInterval(idleSweep);
  clearTimeout(cut);
}

function createApp(options: ApiOptions): express.Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('query parser', false);
  app.set('trust proxy', options.trustedProxyHops);
  app.use(nameRequest);
  app.use(countRequests());
  const shared = limitClients(options.clientLimit, 'client');
  for (const path of new Set(options.routes.map((route) => route.path))) {
    const routes = options.routes.filter((route) => route.path === path);
    const allowed = routes.map((route) => route.method).join(', ');
    for (const route of routes) {
      const before = [
        route.clientLimit === undefined ? shared : limitClients(route.clientLimit, route.clientLimit.name),
        ...(route.takesJson ? readJson(options.bodyBytesMax) : []),
      ];
      app[route.method.toLowerCase() as 'get' | 'post' | 'delete' | 'patch'](
        path,
        before,
        serve(route, options.logger),
      );
    }
    app.all(path, shared, (request, response) =>
      send(response, {
        code: 'method_not_allowed',
        detail: `${request.method} is not allowed at ${path}; use ${allowed}`,
        headers: { Allow: allowed },
      }),
    );
  }
  app.use(shared, (request, response) =>
    send(response, { code: 'not_found', detail: `there is nothing at ${request.path}` }),
  );
  app.use(answerError(options.logger));
  return app;
}

function serve(route: Route, logger: Logger) {
  return async (request: Request, response: Response, next: NextFunction): Promise<void> => {
    if (request.method !== route.method) return next();
    const { requestId } = response.locals as { requestId: string };
    const { traceparent } = request.headers;
    const queryAt = request.url.indexOf('?');
    try {
      const reply = await route.handle({
        requestId,
        traceparent: isTraceparent(traceparent) ? traceparent : undefined,
        query: new URLSearchParams(queryAt < 0 ? '' : request.url.slice(queryAt + 1)),
        body: route.takesJson ? request.body : undefined,
      });
      send(response, reply);
    } catch (error) {
      logger.error({ error, requestId, path: route.path }, 'a request failed');
      send(response, { code: 'internal', detail: 'the request failed here; it is logged under its request id' });
    }
  };
}

function nameRequest(request: Request, response: Response, next: NextFunction): void {
  const given = request.headers['x-request-id'];
  const requestId = typeof given === 'string' && /^[\w.:-]{1,128}$/.test(given) ? given : randomUUID();
  response.locals['requestId'] = requestId;
  response.setHeader('X-Request-Id', requestId);
  next();
}

function countRequests() {
  const meter = metrics.getMeter('http');
  const duration = meter.createHistogram('http_server_request_duration_seconds', {
    unit: 's',
    description: 'Time from the request to the end of its answer',
    advice: { explicitBucketBoundaries: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5] },
  });
  return (request: Request, response: Response, next: NextFunction): void => {
    const startedAt = performance.now();
    response.once('close', () => {
      const code = (response.locals as { code?: string }).code ?? (response.writableEnded ? 'ok' : 'aborted');
      const route: unknown = request.route?.path;
      const labels = { method: request.method, route: typeof route === 'string' ? route : 'none', code };
      duration.record((performance.now() - startedAt) / 1000, labels);
    });
    next();
  };
}

function limitClients({ requests, windowSeconds }: ClientLimit, name: string) {
  return rateLimit({
    windowMs: windowSeconds * 1000,
    limit: requests,
    standardHeaders: 'draft-8',
    legacyHeaders: false,
    identifier: name,
    keyGenerator: (request) => ipKeyGenerator(request.ip ?? ''),
    handler: (_request, response) =>
      send(response, { code: 'rate_limited', detail: 'too many requests from this address; Retry-After says when' }),
  });
}

function send(response: Response, reply: Reply): void {
  if (response.headersSent || response.destroyed) return;
  const wire = toWire(reply, (response.locals as { requestId: string }).requestId);
  if ('code' in reply) response.locals['code'] = reply.code;
  response.statusCode = wire.status;
  for (const [name, value] of Object.entries(wire.headers)) {
    if (name.startsWith('RateLimit')) response.append(name, value);
    else response.setHeader(name, value);
  }
  response.setHeader('Content-Type', wire.contentType);
  response.setHeader('Content-Length', Buffer.byteLength(wire.body));
  response.end(wire.body);
}

function answerError(logger: Logger) {
  return (error: unknown, request: Request, response: Response, _next: NextFunction): void => {
    const refusal = refusalOf(error);
    if (refusal.code === 'internal') logger.error({ error, path: request.path }, 'a request failed');
    send(response, refusal);
  };
}

function refusalOf(error: unknown): Refusal {
  if (typeof error === 'object' && error !== null) {
    if ('refusal' in error) return error.refusal as Refusal;
    if (error instanceof URIError) return { code: 'invalid_request', detail: 'the path is not well-formed' };
  }
  return { code: 'internal', detail: 'the request failed here; it is logged under its request id' };
}

/** What the HTTP parser itself refuses never reaches the app: the answer is written on the socket. */
function answerBrokenRequest(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const refusal: Refusal =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? { code: 'payload_too_large', detail: 'the request line and headers are too large; cancel fewer orders at once' }
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? { code: 'invalid_request', detail: 'the request did not arrive in time' }
        : { code: 'invalid_request', detail: 'the request is not well-formed HTTP' };
  const requestId = randomUUID();
  const wire = toWire(refusal, requestId);
  const head = [
    `HTTP/1.1 ${wire.status} ${refusal.code}`,
    `Content-Type: ${wire.contentType}`,
    `Content-Length: ${Buffer.byteLength(wire.body)}`,
    `X-Request-Id: ${requestId}`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${wire.body}`);
}
