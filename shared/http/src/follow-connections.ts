import { randomUUID } from 'node:crypto';
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import { isIP, type Socket } from 'node:net';
import { ipKeyGenerator } from 'express-rate-limit';
import { containErrors } from './contain-errors.js';
import { internal, type Refusal, requestIdOf, toWire } from './reply.js';
import { closeSoon } from './send.js';

/** Requests of one connection that may wait for the answers before them. */
const PIPELINED_MAX = 32;
/** More than browsers and their proxies send. Envoy allows as many. */
const FIELDS_MAX = 100;
/** Bytes of a header field's name or value. The cost to read a field may grow faster than its bytes. */
const FIELD_BYTES_MAX = 8_192;
const NAME_CHARACTERS_MAX = 100;

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

const arrivals = new WeakMap<IncomingMessage, number>();

/** When the head of a request arrived, by the monotonic clock. A pipelined request then waits for those before it. */
export function arrivedAtMs(request: IncomingMessage): number {
  return arrivals.get(request) ?? performance.now();
}

/** A connection: its exchanges without a whole answer yet, the first one under way, and how the connection ends. */
interface Connection {
  readonly exchanges: Exchange[];
  /** The last request that was answered; the rest of its body may still be on its way. */
  answered: IncomingMessage | undefined;
  /** Bytes that had arrived when the last answer was sent. */
  bytesDone: number;
  /** The bytes after the exchanges cannot be read, so the connection is closed after them. */
  isBroken: boolean;
}

export interface FollowOptions {
  /** Connections of one client address at a time; left out behind proxies, whose addresses are not the clients'. */
  readonly connectionsPerAddressMax?: number | undefined;
  /** The host names that requests may use. Empty: any name. */
  readonly hostNames?: readonly string[];
  /** Requests may use any IP address as the host too, as probes and scrapes do. A page of another name never does. */
  readonly takesAddresses?: boolean;
  /** Called for what is refused before there is a request. */
  readonly onRefused?: ((refusal: Refusal, requestId: string, status: number) => void) | undefined;
  /** Called for an uncaught error. Its request is answered with 500, or cut if an answer was under way. */
  readonly onFailed?: ((error: unknown, requestId: string, response: ServerResponse) => void) | undefined;
}

/** Ends the connections of a server. */
export interface Connections {
  /** From now on each answer ends its connection. It tells the client so, which then sends nothing that gets lost. */
  readonly endWithAnswers: () => void;
  /** Closes the connections that have no request and no answer that is still being sent. */
  readonly closeIdle: () => void;
}

/**
 * Hands the requests of a server to a listener, one of each connection at a time. Pipelined requests wait for the
 * answers before them. A connection beyond `connectionsPerAddressMax` is refused, and none of its requests is handled.
 * A request that the HTTP parser refuses gets a problem on the socket, unless an answer is sent or under way.
 */
export function followConnections(
  server: Server,
  listener: RequestListener,
  {
    connectionsPerAddressMax: perAddressMax,
    hostNames = [],
    takesAddresses = false,
    onRefused,
    onFailed,
  }: FollowOptions,
): Connections {
  const connections = new Map<Socket, Connection>();
  const names = hostNames.map((name) => name.toLowerCase());
  let isEnding = false;
  const refuse: Refuse = (socket, refusal) => {
    const requestId = randomUUID();
    const status = refuseOnSocket(socket, refusal, requestId);
    onRefused?.(refusal, requestId, status);
  };
  if (perAddressMax !== undefined) {
    boundConnections(server, perAddressMax, (socket, refusal) => {
      connections.delete(socket);
      refuse(socket, refusal);
    });
  }

  function handle({ request, response }: Exchange): void {
    if (isEnding) response.setHeader('Connection', 'close');
    request.url = withoutOrigin(request.url);
    const fault = faultOfHead(request, { names, takesAddresses });
    if (fault !== undefined) return refuse(request.socket, fault);
    containErrors(
      () => listener(request, response),
      (error) => {
        const requestId = failRequest({ request, response });
        onFailed?.(error, requestId, response);
      },
    );
  }

  function serve(request: IncomingMessage, response: ServerResponse): void {
    const connection = connections.get(request.socket);
    if (connection === undefined) return;
    arrivals.set(request, performance.now());
    connection.exchanges.push({ request, response });
    if (connection.exchanges.length === 1) start(connection, handle);
    else if (connection.exchanges.length > PIPELINED_MAX) request.socket.destroy();
  }

  // Must come before all other listeners: the first request may arrive at the same moment.
  server.prependListener('connection', (socket: Socket) => {
    connections.set(socket, { exchanges: [], answered: undefined, bytesDone: 0, isBroken: false });
    socket.once('close', () => connections.delete(socket));
  });
  server.on('request', serve);
  server.on('checkExpectation', serve);
  server.on('clientError', (error, socket) =>
    endBroken(error, socket as Socket, connections.get(socket as Socket), refuse),
  );
  server.on('connect', (_request, socket) =>
    refuse(socket as Socket, { code: 'method_not_allowed', detail: 'CONNECT is not allowed' }),
  );
  return {
    endWithAnswers() {
      isEnding = true;
      for (const { exchanges } of connections.values()) {
        const [underWay] = exchanges;
        if (underWay?.response.headersSent === false) underWay.response.setHeader('Connection', 'close');
      }
    },
    closeIdle() {
      for (const [socket, { exchanges, bytesDone }] of connections)
        if (exchanges.length === 0 && socket.bytesRead === bytesDone) socket.destroy();
    },
  };
}

type Refuse = (socket: Socket, refusal: Refusal) => void;

/** Handles the first exchange of a connection, and the next one after its answer. */
function start(connection: Connection, handle: (exchange: Exchange) => void): void {
  const [first] = connection.exchanges;
  if (first === undefined || !first.request.socket.writable) return;
  first.response.once('close', () => {
    connection.exchanges.shift();
    connection.answered = first.request;
    connection.bytesDone = first.request.socket.bytesRead;
    if (connection.exchanges.length > 0) start(connection, handle);
    else if (connection.isBroken) closeSoon(first.request.socket);
  });
  handle(first);
}

/** Closes a connection whose next bytes cannot be read, after the answers that are due. */
function endBroken(
  error: NodeJS.ErrnoException,
  socket: Socket,
  connection: Connection | undefined,
  refuse: Refuse,
): void {
  if (connection?.isBroken) return;
  const last = connection?.exchanges.at(-1);
  // Browsers keep unused connections open for later. Do not answer there: the browser would take it for the answer to
  // its next request.
  const isUnused = socket.bytesRead === 0;
  if (!socket.writable || error.code === 'ECONNRESET' || connection === undefined || isUnused) {
    socket.destroy();
  } else if (last !== undefined && (last.request.complete || connection.exchanges.length > 1)) {
    connection.isBroken = true;
    if (!last.request.complete) connection.exchanges.pop();
  } else if (connection.answered?.complete === false || last?.response.headersSent) {
    socket.destroy();
  } else {
    refuse(socket, describeBroken(error));
  }
}

function boundConnections(server: Server, perAddressMax: number, drop: Refuse): void {
  const counts = new Map<string, number>();
  server.on('connection', (socket: Socket) => {
    const address = ipKeyGenerator(socket.remoteAddress ?? '');
    const count = counts.get(address) ?? 0;
    if (count >= perAddressMax) {
      const detail = `more than ${perAddressMax} connections of this address: use those that are open`;
      drop(socket, { code: 'rate_limited', detail, headers: { 'Retry-After': '1' } });
      return;
    }
    counts.set(address, count + 1);
    socket.once('close', () => {
      const left = (counts.get(address) ?? 1) - 1;
      if (left > 0) counts.set(address, left);
      else counts.delete(address);
    });
  });
}

/** Answers 500, or cuts an answer that is under way. @returns the request's id */
function failRequest({ request, response }: Exchange): string {
  const requestId = String(response.getHeader('X-Request-Id') ?? requestIdOf(request));
  if (response.headersSent) {
    response.destroy();
    return requestId;
  }
  const { status, headers, contentType, body } = toWire(internal, requestId);
  const own = { 'Content-Type': contentType, 'X-Request-Id': requestId, Connection: 'close' };
  response.writeHead(status, { ...headers, ...own }).end(body);
  return requestId;
}

/**
 * Drops the origin that a request target may name (RFC 9112, 3.2.2). Express answers a target that is no URL with a
 * page of its own, and a proxy turns it into a path.
 */
function withoutOrigin(target = ''): string {
  const path = target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '');
  return path === target || path.startsWith('/') ? path : `/${path}`;
}

function describeBroken({ code }: NodeJS.ErrnoException): Refusal {
  if (code === 'HPE_HEADER_OVERFLOW') {
    const detail = 'the request line and headers are too large; cancel fewer orders at once';
    return { code: 'payload_too_large', detail };
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return {
      code: 'request_timeout',
      detail: 'the request did not arrive in time',
      headers: { 'Retry-After': '1' },
    };
  return { code: 'invalid_request', detail: 'the request is not well-formed HTTP' };
}

/** @returns the status */
function refuseOnSocket(socket: Socket, refusal: Refusal, requestId: string): number {
  const wire = toWire(refusal, requestId);
  const head = [
    `HTTP/1.1 ${wire.status} ${refusal.code}`,
    `Content-Type: ${wire.contentType}`,
    `Content-Length: ${Buffer.byteLength(wire.body)}`,
    `X-Request-Id: ${requestId}`,
    ...Object.entries(wire.headers).map(([name, value]) => `${name}: ${value}`),
    'Connection: close',
  ];
  socket.on('error', () => socket.destroy());
  socket.write(`${head.join('\r\n')}\r\n\r\n${wire.body}`);
  closeSoon(socket);
  return wire.status;
}

/**
 * Checks the head of a request before anything reads a field of it.
 * @param names the host names that requests may use, in lowercase; empty: any name
 * @returns why the request is refused
 */
function faultOfHead(
  { httpVersion, rawHeaders, headers }: IncomingMessage,
  { names, takesAddresses }: { readonly names: readonly string[]; readonly takesAddresses: boolean },
): Refusal | undefined {
  if (rawHeaders.length / 2 > FIELDS_MAX)
    return { code: 'payload_too_large', detail: `the request has more than ${FIELDS_MAX} header fields` };
  const large = rawHeaders.findIndex((text) => text.length > FIELD_BYTES_MAX);
  if (large >= 0) {
    const name = rawHeaders[large - (large % 2)]?.slice(0, NAME_CHARACTERS_MAX);
    return { code: 'payload_too_large', detail: `the header ${name} is larger than ${FIELD_BYTES_MAX} bytes` };
  }
  // Of two Hosts, each proxy may use a different one (RFC 9112, 3.2).
  const hosts = rawHeaders.filter((name, at) => at % 2 === 0 && name.length === 4 && name.toLowerCase() === 'host');
  if (hosts.length > 1) return { code: 'invalid_request', detail: 'the request has more than one Host' };
  if (httpVersion === '1.1' && hosts.length === 0)
    return { code: 'invalid_request', detail: 'the request has no Host' };
  // A page whose name resolves to this address could read what is for this machine alone (DNS rebinding).
  const name = nameOf(headers.host);
  if (names.length === 0 || names.includes(name)) return undefined;
  if (takesAddresses && isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0) return undefined;
  const detail = `the Host is none of ${names.join(', ')}: use one of these, or add it to HOST_NAMES`;
  return { code: 'invalid_request', detail };
}

/** The host in lowercase, without the port. */
function nameOf(host = ''): string {
  return host.replace(/:\d*$/, '').toLowerCase();
}
