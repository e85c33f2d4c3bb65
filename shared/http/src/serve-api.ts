import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Logger } from '@makerbook/telemetry';
import express, { type NextFunction, type Request, type Response } from 'express';
import { addressOf, type ClientLimit, limitClients } from './limit-clients.js';
import { observeRequests, type RequestNotes } from './observe-requests.js';
import { type OpenServer, openServer, type ServerOptions } from './open-server.js';
import { Refused } from './read-body.js';
import { readJson } from './read-json.js';
import type { ApiRequest, Refusal, Reply } from './reply.js';
import { send } from './send.js';

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

export interface ApiOptions extends ServerOptions {
  readonly routes: readonly Route[];
  readonly logger: Logger;
  /** A larger body is refused with 413. */
  readonly bodyBytesMax: number;
  /** Applies without a proxy in front. */
  readonly connectionsPerAddressMax: number;
  /** Number of proxies in front whose X-Forwarded-For is trusted. */
  readonly trustedProxyHops: number;
  /** Over all routes that have none of their own. */
  readonly clientLimit: ClientLimit;
  /** The clock, in milliseconds since 1970. */
  readonly nowMs: () => number;
}

/**
 * Serves routes over HTTP: request ids, JSON bodies, limits, and every error as `application/problem+json`. Never HTML,
 * never a stack. Rate limit headers are those of the IETF draft (draft 8).
 * @throws where the port cannot be had
 */
export function serveApi(options: ApiOptions): Promise<OpenServer> {
  const { connectionsPerAddressMax, ...server } = options;
  // The connections of a proxy are those of all its clients: it is for the proxy to bound theirs.
  const isDirect = options.trustedProxyHops === 0;
  return openServer(createApp(options), isDirect ? { ...server, connectionsPerAddressMax } : server);
}

function createApp(options: ApiOptions): express.Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('query parser', false);
  app.set('trust proxy', options.trustedProxyHops);
  app.use(receive(options.nowMs));
  app.use(observeRequests());
  const limit = (clientLimit: ClientLimit, name: string) =>
    limitClients(clientLimit, name, options.bodyBytesMax, answer);
  const shared = limit(options.clientLimit, 'client');
  for (const path of new Set(options.routes.map((route) => route.path))) {
    const routes = options.routes.filter((route) => route.path === path);
    const allowed = routes.map((route) => route.method).join(', ');
    for (const route of routes) {
      const before = [
        skipOthers(route.method),
        ...(route.clientLimit === undefined ? shared : limit(route.clientLimit, route.clientLimit.name)),
        ...(route.takesJson ? [readJson(options.bodyBytesMax)] : []),
      ];
      app[route.method.toLowerCase() as 'get' | 'post' | 'delete' | 'patch'](
        path,
        before,
        serve(route, options.logger),
      );
    }
    app.all(path, ...shared, (request: Request, response: Response) =>
      answer(request, response, {
        code: 'method_not_allowed',
        detail: `${request.method} is not allowed at ${path}; use ${allowed}`,
        headers: { Allow: allowed },
      }),
    );
  }
  app.use(...shared, (request: Request, response: Response) =>
    answer(request, response, { code: 'not_found', detail: `there is nothing at ${request.path}` }),
  );
  app.use(answerError(options.logger));
  return app;
}

/** Express takes a HEAD for a GET. */
function skipOthers(method: Route['method']) {
  return (request: Request, _response: Response, next: NextFunction): void =>
    request.method === method ? next() : next('route');
}

function serve(route: Route, logger: Logger) {
  return async (request: Request, response: Response): Promise<void> => {
    const { requestId, receivedAtMs } = response.locals as RequestNotes;
    const queryAt = request.url.indexOf('?');
    try {
      const reply = await route.handle({
        requestId,
        receivedAtMs,
        client: addressOf(request),
        query: new URLSearchParams(queryAt < 0 ? '' : request.url.slice(queryAt + 1)),
        body: route.takesJson ? request.body : undefined,
      });
      answer(request, response, reply);
    } catch (error) {
      logger.error({ error, requestId, path: route.path }, 'a request failed');
      answer(request, response, {
        code: 'internal',
        detail: 'the request failed here; it is logged under its request id',
      });
    }
  };
}

/** The id that the request brought, where it is a sane one; else a new one. */
export function requestIdOf({ headers }: IncomingMessage): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && /^[\w.:-]{1,128}$/.test(given) ? given : randomUUID();
}

/** Gives the request its id and the time of its arrival. */
function receive(nowMs: () => number) {
  return (request: Request, response: Response, next: NextFunction): void => {
    const requestId = requestIdOf(request);
    response.locals['requestId'] = requestId;
    response.locals['receivedAtMs'] = nowMs();
    response.setHeader('X-Request-Id', requestId);
    next();
  };
}

/** Answers, and notes the code of a refusal for span and metrics. */
function answer(request: Request, response: Response, reply: Reply): void {
  const notes = response.locals as RequestNotes;
  if ('code' in reply) notes.code = reply.code;
  send(request, response, reply, notes.requestId);
}

function answerError(logger: Logger) {
  return (error: unknown, request: Request, response: Response, _next: NextFunction): void => {
    const refusal = refusalOf(error);
    if (refusal.code === 'internal') logger.error({ error, path: request.path }, 'a request failed');
    answer(request, response, refusal);
  };
}

function refusalOf(error: unknown): Refusal {
  if (error instanceof Refused) return error.refusal;
  if (error instanceof URIError) return { code: 'invalid_request', detail: 'the path is not well-formed' };
  return { code: 'internal', detail: 'the request failed here; it is logged under its request id' };
}
