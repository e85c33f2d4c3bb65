import { randomUUID } from 'node:crypto';
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { ipKeyGenerator } from 'express-rate-limit';
import { type Refusal, toWire } from './reply.js';
import { closeSoon } from './send.js';

/** Requests of one connection that wait for the answers before them. */
const PIPELINED_MAX = 32;

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** The exchanges of a connection that have no whole answer yet, the first of them under way; and how the connection ends. */
interface Connection {
  readonly exchanges: Exchange[];
  /** The last request that was answered; the rest of its body may still be on its way. */
  answered: IncomingMessage | undefined;
  /** What follows the exchanges cannot be read: the connection is closed behind them. */
  isBroken: boolean;
}

/**
 * Hands the requests of a server to a listener, one of each connection at a time: those that a client pipelines wait for
 * the answers before them. A connection beyond `perAddressMax` is refused and none of its requests is handled. What the
 * HTTP parser refuses gets its problem on the socket, unless an answer is there or under way.
 */
export function followConnections(server: Server, listener: RequestListener, perAddressMax: number | undefined): void {
  const connections = new WeakMap<Socket, Connection>();
  if (perAddressMax !== undefined) boundConnections(server, perAddressMax, (socket) => connections.delete(socket));

  function start(connection: Connection): void {
    const [first] = connection.exchanges;
    if (first === undefined || first.request.socket.destroyed) return;
    const { request, response } = first;
    response.once('close', () => {
      connection.exchanges.shift();
      connection.answered = request;
      if (connection.exchanges.length > 0) start(connection);
      else if (connection.isBroken) closeSoon(request.socket);
    });
    if (request.httpVersion === '1.1' && request.headers.host === undefined) {
      refuseOnSocket(request.socket, { code: 'invalid_request', detail: 'the request has no Host' });
    } else {
      listener(request, response);
    }
  }

  function serve(request: IncomingMessage, response: ServerResponse): void {
    const connection = connections.get(request.socket);
    if (connection === undefined) return;
    connection.exchanges.push({ request, response });
    if (connection.exchanges.length === 1) start(connection);
    else if (connection.exchanges.length > PIPELINED_MAX) request.socket.destroy();
  }

  function endBroken(error: NodeJS.ErrnoException, socket: Socket): void {
    const connection = connections.get(socket);
    if (connection?.isBroken) return;
    const last = connection?.exchanges.at(-1);
    if (!socket.writable || error.code === 'ECONNRESET' || connection === undefined) {
      socket.destroy();
    } else if (last !== undefined && (last.request.complete || connection.exchanges.length > 1)) {
      connection.isBroken = true;
      if (!last.request.complete) connection.exchanges.pop();
    } else if (connection.answered?.complete === false || last?.response.headersSent) {
      socket.destroy();
    } else {
      refuseOnSocket(socket, describeBroken(error));
    }
  }

  // Before all other listeners: the first request may be there in the same moment.
  server.prependListener('connection', (socket: Socket) =>
    connections.set(socket, { exchanges: [], answered: undefined, isBroken: false }),
  );
  server.on('request', serve);
  server.on('checkExpectation', serve);
  server.on('clientError', endBroken);
  server.on('connect', (_request, socket) =>
    refuseOnSocket(socket as Socket, { code: 'method_not_allowed', detail: 'CONNECT is not allowed' }),
  );
}

function boundConnections(server: Server, perAddressMax: number, drop: (socket: Socket) => void): void {
  const counts = new Map<string, number>();
  server.on('connection', (socket: Socket) => {
    const address = ipKeyGenerator(socket.remoteAddress ?? '');
    const count = counts.get(address) ?? 0;
    if (count >= perAddressMax) {
      const detail = `more than ${perAddressMax} connections of this address: use those that are open`;
      drop(socket);
      refuseOnSocket(socket, { code: 'rate_limited', detail, headers: { 'Retry-After': '1' } });
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

function describeBroken({ code }: NodeJS.ErrnoException): Refusal {
  if (code === 'HPE_HEADER_OVERFLOW') {
    const detail = 'the request line and headers are too large; cancel fewer orders at once';
    return { code: 'payload_too_large', detail };
  }
  const detail =
    code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 'the request did not arrive in time' : 'the request is not well-formed HTTP';
  return { code: 'invalid_request', detail };
}

function refuseOnSocket(socket: Socket, refusal: Refusal): void {
  const requestId = randomUUID();
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
}
