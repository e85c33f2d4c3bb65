import { randomUUID } from 'node:crypto';
import { Agent, createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { type ProblemCode, problemBody, problemKinds } from '@makerbook/contracts-http';
import express, { type NextFunction, type Request, type Response } from 'express';
import { createProxyMiddleware } from 'http-proxy-middleware';
import { askAllReadiness } from './check-readiness.js';
import type { GatewaySettings } from './gateway-env.js';
import { type Route, type RoutedService, routeOf } from './route-requests.js';

/** A DELETE of 100 orders has 21 kB of query string. */
const HEADER_BYTES_MAX = 65_536;
const UPSTREAM_SILENCE_MS_MAX = 30_000;
const UPSTREAM_SOCKETS_MAX = 256;
const DRAIN_MS = 10_000;

export type Gateway = {
  readonly port: number;
  /** Takes no new requests, lets those under way finish, cuts what is left after 10 s. */
  stop(): Promise<void>;
};

/**
 * The one base URL: passes each request to the service that its method and path belong to, unbuffered and unchanged,
 * and answers `/livez` and `/readyz` for the whole. Errors of its own are `application/problem+json` (Interface 7).
 * @param note takes a line for the log, about each request that a service did not answer
 * @throws where the port cannot be had
 */
export async function runGateway(
  settings: GatewaySettings,
  routes: readonly Route[],
  note: (line: string) => void,
): Promise<Gateway> {
  const agent = new Agent({ keepAlive: true, maxSockets: UPSTREAM_SOCKETS_MAX });
  const upstreams: Record<RoutedService, ReturnType<typeof passTo>> = {
    ingress: passTo('ingress', settings.INGRESS_URL, agent, note),
    query: passTo('query', settings.QUERY_URL, agent, note),
  };
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('query parser', false);
  app.use(nameRequest);
  app.get('/livez', (_request, response) => void response.json({ status: 'ok', checks: {} }));
  app.get('/readyz', async (_request, response) => {
    const { isReady, checks } = await askAllReadiness(settings.OPS_URLS);
    response.status(isReady ? 200 : 503).json({ status: isReady ? 'ok' : 'unavailable', checks });
  });
  app.use((request: Request, response: Response, next: NextFunction) => {
    const service = routeOf(routes, request.method, request.path);
    if (service === undefined) return next();
    nameClient(request);
    // A failure is answered where it is heard, below, and goes no further.
    return upstreams[service](request, response, () => undefined);
  });
  app.use((request: Request, response: Response) =>
    refuse(request, response, 'not_found', `there is nothing at ${request.path}`),
  );
  app.use((error: unknown, request: Request, response: Response, _next: NextFunction) => {
    // A path that is no URL: Express says so with a status below 500.
    const isClients = (error as { status?: number }).status === 400;
    if (!isClients) note(error instanceof Error ? String(error.stack) : String(error));
    refuse(request, response, isClients ? 'invalid_request' : 'internal', 'the request could not be routed');
  });

  const server = createServer({ maxHeaderSize: HEADER_BYTES_MAX }, app);
  server.on('clientError', refuseBrokenRequest);
  const port = await listen(server, settings.PORT);
  return {
    port,
    async stop() {
      await drain(server);
      agent.destroy();
    },
  };
}

function passTo(service: RoutedService, target: string, agent: Agent, note: (line: string) => void) {
  return createProxyMiddleware<Request, Response>({
    target,
    agent,
    proxyTimeout: UPSTREAM_SILENCE_MS_MAX,
    // A client's own "close" ends its connection to us, and none of ours to the services.
    headers: { connection: 'keep-alive' },
    ejectPlugins: true,
    plugins: [
      (proxy) => {
        proxy.on('proxyRes', (answer) => {
          // These two speak of the connection between gateway and service.
          delete answer.headers['keep-alive'];
          delete answer.headers.connection;
        });
        proxy.on('error', (error, request, response) => {
          if (request === undefined || response === undefined) return;
          note(`${service} did not answer ${request.method} ${request.path}: ${error.message}`);
          if ('headersSent' in response && !response.headersSent) {
            refuse(
              request,
              response,
              'unavailable',
              `the service behind this address (${service}) does not answer now`,
            );
          } else {
            // The client has a part of the answer: only a cut connection tells it that the rest is missing.
            response.destroy();
          }
        });
      },
    ],
  });
}

function nameRequest(request: Request, _response: Response, next: NextFunction): void {
  const given = request.headers['x-request-id'];
  if (typeof given !== 'string' || !/^[\w.:-]{1,128}$/.test(given)) request.headers['x-request-id'] = randomUUID();
  next();
}

/** Adds the client's address to those that came along. Services that trust one proxy take the last. */
function nameClient(request: Request): void {
  const before = request.headers['x-forwarded-for'];
  const client = request.socket.remoteAddress ?? '';
  request.headers['x-forwarded-for'] = before === undefined ? client : `${before}, ${client}`;
}

function refuse(request: Request, response: Response, code: ProblemCode, detail: string): void {
  const requestId = String(request.headers['x-request-id']);
  response
    .status(problemKinds[code].status)
    .set('X-Request-Id', requestId)
    .type('application/problem+json; charset=utf-8')
    .send(JSON.stringify(problemBody(code, { detail }, requestId)));
}

/** Answers what is not HTTP, or has too large a head: there is no request yet. */
function refuseBrokenRequest(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
  const isTooLarge = error.code === 'HPE_HEADER_OVERFLOW';
  const code: ProblemCode = isTooLarge ? 'payload_too_large' : 'invalid_request';
  const detail = isTooLarge ? `the head of the request exceeds ${HEADER_BYTES_MAX} bytes` : 'this is not HTTP';
  const body = JSON.stringify(problemBody(code, { detail }, randomUUID()));
  const { status } = problemKinds[code];
  const head = `HTTP/1.1 ${status} ${isTooLarge ? 'Payload Too Large' : 'Bad Request'}\r\nConnection: close\r\n`;
  const about = `Content-Type: application/problem+json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\n`;
  socket.end(`${head}${about}\r\n${body}`);
}

function listen(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, () => {
      const address = server.address();
      resolve(address === null || typeof address === 'string' ? port : address.port);
    });
  });
}

async function drain(server: Server<typeof IncomingMessage, typeof ServerResponse>): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  const sweep = setInterval(() => server.closeIdleConnections(), 50);
  const cut = setTimeout(() => server.closeAllConnections(), DRAIN_MS);
  await closed;
  clearInterval(sweep);
  clearTimeout(cut);
}
