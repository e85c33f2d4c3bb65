import { randomUUID } from 'node:crypto';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { ipKeyGenerator } from 'express-rate-limit';
import { type Refusal, toWire } from './reply.js';
import { closeSoon } from './send.js';

export interface ServerOptions {
  /** The address to listen on: `127.0.0.1` for this machine alone, `0.0.0.0` or `::` for all. */
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** Request line and headers together. */
  readonly headerBytesMax: number;
  /** A request that has not arrived whole by then is refused, so that no socket hangs. */
  readonly requestTimeoutMs: number;
  /** Connections of one client address at a time; left out where proxies stand in front, whose addresses are not the clients'. */
  readonly connectionsPerAddressMax?: number;
}

/** A server that listens. */
export interface OpenServer {
  readonly port: number;
  /** Takes no new requests, lets those under way finish, cuts what is left after `drainMs`. */
  readonly stop: (drainMs: number) => Promise<void>;
}

/**
 * Listens for HTTP, with bounds on what a client may hold: time, header bytes, connections. What is refused before there
 * is a request gets its problem on the socket.
 * @throws where the port cannot be had
 */
export async function openServer(listener: RequestListener, options: ServerOptions): Promise<OpenServer> {
  const server = createServer(
    {
      maxHeaderSize: options.headerBytesMax,
      requestTimeout: options.requestTimeoutMs,
      headersTimeout: options.requestTimeoutMs,
      connectionsCheckingInterval: 1000,
    },
    listener,
  );
  server.on('clientError', answerBrokenRequest);
  if (options.connectionsPerAddressMax !== undefined) boundConnections(server, options.connectionsPerAddressMax);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, options.host, () => resolve());
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server listens on no TCP port');
  return { port: address.port, stop: (drainMs) => stopServer(server, drainMs) };
}

/** Idle connections at once, the others when they have been answered, at the latest after `drainMs`. */
async function stopServer(server: Server, drainMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  const idleSweep = setInterval(() => server.closeIdleConnections(), 50);
  const cut = setTimeout(() => server.closeAllConnections(), drainMs);
  await closed;
  clearInterval(idleSweep);
  clearTimeout(cut);
}

function boundConnections(server: Server, perAddressMax: number): void {
  const counts = new Map<string, number>();
  server.on('connection', (socket: Socket) => {
    const address = ipKeyGenerator(socket.remoteAddress ?? '');
    const count = counts.get(address) ?? 0;
    if (count >= perAddressMax) {
      const detail = `more than ${perAddressMax} connections of this address: use those that are open`;
      socket.on('error', () => socket.destroy());
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

/** What the HTTP parser itself refuses never reaches the listener. */
function answerBrokenRequest(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  refuseOnSocket(
    socket,
    error.code === 'HPE_HEADER_OVERFLOW'
      ? { code: 'payload_too_large', detail: 'the request line and headers are too large; cancel fewer orders at once' }
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? { code: 'invalid_request', detail: 'the request did not arrive in time' }
        : { code: 'invalid_request', detail: 'the request is not well-formed HTTP' },
  );
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
  socket.write(`${head.join('\r\n')}\r\n\r\n${wire.body}`);
  closeSoon(socket);
}
