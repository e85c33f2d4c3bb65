import { createServer, type RequestListener, type Server } from 'node:http';
import { followConnections } from './follow-connections.js';

export interface ServerOptions {
  /** The address to listen on: `127.0.0.1` for this machine alone, `0.0.0.0` or `::` for all. */
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** Request line and headers together. */
  readonly headerBytesMax: number;
  /** A request that has not arrived whole by then is refused, so that no socket hangs. */
  readonly requestTimeoutMs: number;
  /** Connections of one client address at a time; left out behind proxies, whose addresses are not the clients'. */
  readonly connectionsPerAddressMax?: number;
}

/** A server that listens. */
export interface OpenServer {
  readonly port: number;
  /** Takes no new requests, lets those under way finish, cuts what is left after `drainMs`. */
  readonly stop: (drainMs: number) => Promise<void>;
}

/** Longer than any answer takes. A connection on which nothing moves for so long is cut: its client reads no answer. */
const SILENCE_MS_MAX = 60_000;

/**
 * How long a connection without a request stays open. Proxies keep theirs for 60 s (nginx, AWS ALB), and must be the first to
 * close: a request that crosses the closing of its connection is lost, and no proxy repeats a POST.
 */
const IDLE_MS_MAX = 75_000;

/**
 * Listens for HTTP, with bounds on what a client may hold: time, header bytes, connections, requests at once.
 * @throws where the port cannot be had
 */
export async function openServer(listener: RequestListener, options: ServerOptions): Promise<OpenServer> {
  const server = createServer({
    maxHeaderSize: options.headerBytesMax,
    requestTimeout: options.requestTimeoutMs,
    headersTimeout: options.requestTimeoutMs,
    // Both bound the time of a request from its first byte, and not the time between two.
    keepAliveTimeout: IDLE_MS_MAX,
    connectionsCheckingInterval: 1000,
    // What it would answer is no problem document.
    requireHostHeader: false,
  });
  server.setTimeout(SILENCE_MS_MAX);
  followConnections(server, listener, options.connectionsPerAddressMax);
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
