import type { Method } from '@makerbook/contracts-http';
import type { apiSettings, limitSettings, opsSettings, SettingsOf } from '@makerbook/settings';
import { describeSpan, type Logger } from '@makerbook/telemetry';
import express, { type NextFunction, type Request, type RequestHandler, type Response } from 'express';
import { allowOrigins } from './allow-origins.js';
import { oddPath } from './compare-paths.js';
import { arrivedAtMs } from './follow-connections.js';
import { addressOf, type ClientLimit, limitClients } from './limit-clients.js';
import { type AnswerLog, logAnswers } from './log-answers.js';
import { observeRequests, PATH_CHARS_MAX, type RequestNotes } from './observe-requests.js';
import { type OpenServer, openServer } from './open-server.js';
import { Refused, readJson } from './read-body.js';
import { type ApiRequest, internal, isRefusal, okText, type Refusal, type Reply, requestIdOf } from './reply.js';
import { send } from './send.js';

type NamedLimit = Pick<ClientLimit, 'units'> & { readonly name: string };

/** One method at one path; a GET answers HEAD too. A thrown error is a bug: it is logged and answered with 500. */
export interface Route {
  readonly method: Method;
  /** The path as in OpenAPI: a segment may be a `{name}`. */
  readonly path: string;
  /** True if the request has a JSON body. */
  readonly takesJson?: boolean;
  /** A limit instead of the shared one. Routes share a limit of the same name. Checked before the body is read. */
  readonly clientLimit?: NamedLimit;
  readonly handle: (request: ApiRequest) => Promise<Reply>;
}

/** The settings of every API. */
export type ApiSettings = SettingsOf<
  typeof apiSettings &
    Pick<typeof opsSettings, 'HOST' | 'HOST_NAMES'> &
    Pick<typeof limitSettings, 'BODY_BYTES_MAX' | 'CLIENT_REQUESTS_MAX'>
>;

export interface Api {
  readonly routes: readonly Route[];
  /** The methods of each path, over all services behind the base URL. `Allow` names them. */
  readonly methodsAt: Readonly<Record<string, readonly Method[]>>;
  readonly logger: Logger;
}

/**
 * Serves routes over HTTP, with request ids, JSON bodies and limits. Every error is `application/problem+json`, never
 * HTML, never a stack. Rate limit headers are those of the IETF draft (draft 8).
 * @throws if the port cannot be opened
 */
export async function serveApi(settings: ApiSettings, api: Api): Promise<OpenServer> {
  const log = logAnswers(api.logger);
  // A proxy's connections are those of all its clients: the proxy has to bound them.
  const isDirect = settings.TRUSTED_PROXY_HOPS === 0;
  return openServer(createApp(settings, api, answerAndLog(log)), {
    host: settings.HOST,
    port: settings.PORT,
    headerBytesMax: settings.HEADER_BYTES_MAX,
    requestTimeoutMs: settings.REQUEST_TIMEOUT_MS,
    drainMs: settings.DRAIN_MS,
    connectionsPerAddressMax: isDirect ? settings.CONNECTIONS_PER_ADDRESS_MAX : undefined,
    hostNames: settings.HOST_NAMES,
    onRefused: ({ code, detail }, requestId, status) =>
      log(true, () => ({ requestId, endpoint: 'connection', status, code, detail })),
    onFailed: (error, requestId, response) => {
      api.logger.error({ error, requestId }, 'a request failed');
      const notes: Partial<RequestNotes> = (response as Response).locals ?? {};
      notes.code = internal.code;
      notes.release?.();
    },
  });
}

/** The path in Express's form. */
function patternOf(path: string): string {
  return path.replace(/\{(\w+)\}/g, ':$1');
}

type Answer = (request: Request, response: Response, reply: Reply) => void;

function createApp(settings: ApiSettings, api: Api, answer: Answer): express.Express {
  const { routes, methodsAt, logger } = api;
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('query parser', false);
  // Compare paths exactly, as the gateways do.
  app.enable('case sensitive routing');
  app.enable('strict routing');
  app.set('trust proxy', settings.TRUSTED_PROXY_HOPS);
  app.use(receive(settings, api));
  app.use(observeRequests());
  for (const handler of allowOrigins(settings.CORS_ORIGINS)) app.use(handler);
  const limits = new Map<string, RequestHandler[]>();
  const limit = ({ name, units }: NamedLimit) => {
    const clientLimit = { units, windowSeconds: settings.CLIENT_WINDOW_SECONDS };
    const handlers = limits.get(name) ?? limitClients(clientLimit, name, settings.BODY_BYTES_MAX, answer);
    limits.set(name, handlers);
    return handlers;
  };
  const shared = limit({ name: 'client', units: settings.CLIENT_REQUESTS_MAX });
  const serve = serveRoutes(settings.CONCURRENT_REQUESTS_MAX, answer);
  const paths = [...new Set([...Object.keys(methodsAt), ...routes.map((route) => route.path)])];
  const refuseNowhere = (request: Request, response: Response) =>
    answer(request, response, { code: 'not_found', detail: `there is nothing at ${request.path}` });
  app.all(oddPath, ...shared, refuseNowhere);
  // Paths without names come first: Express takes the first one that fits.
  for (const path of paths.sort((a, b) => Number(a.includes('{')) - Number(b.includes('{')))) {
    const here = routes.filter((route) => route.path === path);
    for (const route of here) {
      const before = [
        ...(route.clientLimit === undefined ? shared : limit(route.clientLimit)),
        ...(route.takesJson ? [readJson(settings.BODY_BYTES_MAX)] : []),
      ];
      // Express handles a HEAD as a GET. Its answer is the same without the body.
      app[route.method.toLowerCase() as Lowercase<Method>](patternOf(path), before, serve(route));
    }
    const methods = methodsAt[path] ?? here.map((route) => route.method);
    app.all(patternOf(path), ...shared, refuseMethod(path, methods, answer));
  }
  app.use(...shared, refuseNowhere);
  app.use(answerError(logger, answer));
  return app;
}

/** Answers what no route has answered: OPTIONS, a method that the path does not have, or one of another service. */
function refuseMethod(path: string, methods: readonly Method[], answer: Answer): RequestHandler {
  const names: readonly string[] = methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
  const allowed = [...names, 'OPTIONS'].join(', ');
  return (request, response) => {
    const { method } = request;
    if (method === 'OPTIONS') return answer(request, response, okText('', { Allow: allowed }));
    if (names.includes(method)) {
      const detail = `${method} ${path} is answered by another service: the gateway has to route it there`;
      return answer(request, response, { code: 'not_found', detail });
    }
    const detail = `${method} is not allowed at ${path}; use ${allowed}`;
    answer(request, response, { code: 'method_not_allowed', detail, headers: { Allow: allowed } });
  };
}

/** Handles requests of all routes, up to a bound: a request that waits for a slow part holds memory. */
function serveRoutes(concurrentRequestsMax: number, answer: Answer) {
  let underWay = 0;
  return (route: Route) =>
    async (request: Request, response: Response): Promise<void> => {
      const notes = response.locals as RequestNotes;
      if (underWay >= concurrentRequestsMax) {
        const detail = `more than ${concurrentRequestsMax} requests are under way here`;
        return answer(request, response, { code: 'unavailable', detail });
      }
      underWay += 1;
      let isOver = false;
      // Called too when an uncaught error has ended the request: its handler may never return.
      notes.release = () => {
        underWay -= isOver ? 0 : 1;
        isOver = true;
      };
      try {
        answer(request, response, await route.handle(describeRequest(request, notes)));
      } finally {
        notes.release();
      }
    };
}

function describeRequest(request: Request, notes: RequestNotes): ApiRequest {
  const queryAt = request.url.indexOf('?');
  return {
    requestId: notes.requestId,
    receivedAtMs: arrivedAtMs(request),
    client: addressOf(request),
    charge: notes.charge,
    params: request.params as Record<string, string>,
    query: new URLSearchParams(queryAt < 0 ? '' : request.url.slice(queryAt)),
    headers: request.headers,
    body: request.body,
    describe: ({ maker, reader, orders }) => {
      if (maker !== undefined) notes.maker = maker;
      if (reader !== undefined) notes.reader = reader;
      describeSpan({ 'makerbook.maker': maker, 'makerbook.reader': reader, 'makerbook.orders': orders });
    },
  };
}

/** Gives the request its id, and notes when its handling begins. */
function receive({ TRUSTED_PROXY_HOPS }: ApiSettings, { logger }: Api) {
  let isProxyNamed = TRUSTED_PROXY_HOPS > 0;
  return (request: Request, response: Response, next: NextFunction): void => {
    const requestId = requestIdOf(request);
    response.locals['requestId'] = requestId;
    response.locals['startedAt'] = performance.now();
    response.setHeader('X-Request-Id', requestId);
    if (!isProxyNamed && request.headers['x-forwarded-for'] !== undefined) {
      isProxyNamed = true;
      const text =
        'requests come through a proxy, and TRUSTED_PROXY_HOPS is 0: all clients share the limits of one address';
      logger.warn({ requestId, address: request.socket.remoteAddress }, text);
    }
    next();
  };
}

/** Answers, notes the code of a refusal for span and metrics, and writes the line of the log. */
function answerAndLog(log: AnswerLog): Answer {
  return (request, response, reply) => {
    const notes = response.locals as RequestNotes;
    const refusal = isRefusal(reply) ? reply : undefined;
    if (refusal !== undefined) notes.code = refusal.measuredAs ?? refusal.code;
    send(request, response, reply, notes);
    // An internal error has its own line, with its stack.
    if (refusal?.code === 'internal') return;
    log(refusal !== undefined, () => {
      const route: unknown = request.route?.path;
      return {
        requestId: notes.requestId,
        endpoint: `${request.method} ${typeof route === 'string' ? route : request.path.slice(0, PATH_CHARS_MAX)}`,
        status: response.statusCode,
        ...(notes.maker === undefined ? {} : { maker: notes.maker }),
        ...(notes.reader === undefined ? {} : { reader: notes.reader }),
        ...(refusal === undefined ? {} : { code: refusal.code, detail: refusal.detail }),
        ...(refusal?.index === undefined ? {} : { index: refusal.index }),
      };
    });
  };
}

function answerError(logger: Logger, answer: Answer) {
  return (error: unknown, request: Request, response: Response, _next: NextFunction): void => {
    const refusal = refusalOf(error);
    const notes = response.locals as RequestNotes;
    const { requestId } = notes;
    if (refusal.code === 'internal') logger.error({ error, requestId, path: request.path }, 'a request failed');
    notes.code = refusal.code;
    // If an answer is under way, only a cut connection shows that the rest is missing.
    if (response.headersSent) response.destroy();
    else answer(request, response, refusal);
  };
}

function refusalOf(error: unknown): Refusal {
  if (error instanceof Refused) return error.refusal;
  if (error instanceof URIError) return { code: 'invalid_request', detail: 'the path is not well-formed' };
  return internal;
}
