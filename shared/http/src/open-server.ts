import { createServer, type RequestListener, type Server } from 'node:http';
import { Server as TcpServer } from 'node:net';
import { type Connections, type FollowOptions, followConnections } from './follow-connections.js';

export interface ServerOptions extends FollowOptions {
  /** The address to listen on: `127.0.0.1` for this machine alone, `0.0.0.0` or `::` for all. */
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
  /** Bytes of the request line and headers together. */
  readonly headerBytesMax: number;
  /** A request that has not arrived whole by then is refused, so that no socket hangs. */
  readonly requestTimeoutMs: number;
  /** How long requests under way have to end when the server stops. */
  readonly drainMs: number;
}

/** A server that listens. */
export interface OpenServer {
  readonly port: number;
  /** Takes no new requests, lets those under way finish, cuts what is left after `drainMs`. */
  readonly stop: () => Promise<void>;
}

/** Longer than any answer takes. A connection that is silent for this long is cut: its client reads no answer. */
const SILENCE_MS_MAX = 60_000;

/**
 * How long a connection without a request stays open. Proxies keep theirs for less (AWS ALB for 60 s), and must close
 * first: a request that arrives as its connection closes is lost, and no proxy repeats a POST.
 */
const IDLE_MS_MAX = 75_000;

/**
 * How long a silent connection stays open while the server stops. A request in flight still gets its answer, which ends
 * the connection. A request that arrives as its connection closes would be lost.
 */
const LAST_REQUEST_MS_MAX = 1_000;

/**
 * Listens for HTTP, with bounds on what a client may hold: time, header bytes, connections, requests at once.
 * @throws if the port cannot be opened
 */
export async function openServer(listener: RequestListener, options: ServerOptions): Promise<OpenServer> {
  const server = createServer({
    maxHeaderSize: options.headerBytesMax,
    requestTimeout: options.requestTimeoutMs,
    headersTimeout: options.requestTimeoutMs,
    // Bounds the time between two requests. The two above bound that of one request, from its first byte.
    keepAliveTimeout: IDLE_MS_MAX,
    connectionsCheckingInterval: 1000,
    // Node.js would refuse without a problem document.
    requireHostHeader: false,
  });
  server.setTimeout(SILENCE_MS_MAX);
  // A client may close its side of the connection after its request. It still gets the answer, and then the connection
  // ends.
  Object.assign(server, { httpAllowHalfOpen: true });
  const connections = followConnections(server, listener, options);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, options.host, () => resolve());
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server listens on no TCP port');
  return { port: address.port, stop: () => stopServer(server, connections, options.drainMs) };
}

/** Takes no new connections. Ends busy ones with their answer, idle ones a moment later, others after `drainMs`. */
async function stopServer(server: Server, connections: Connections, drainMs: number): Promise<void> {
  connections.endWithAnswers();
  // `server.close` would cut idle connections at once.
  const closed = new Promise<void>((resolve) => TcpServer.prototype.close.call(server, () => resolve()));
  let idleSweep: NodeJS.Timeout | undefined;
  const idleEnd = setTimeout(
    () => {
      // Let the server read what has arrived before it closes idle connections.
      idleSweep = setInterval(() => setImmediate(connections.closeIdle), 50);
    },
    Math.min(LAST_REQUEST_MS_MAX, drainMs),
  );
  const cut = setTimeout(() => server.closeAllConnections(), drainMs);
  await closed;
  clearTimeout(idleEnd);
  clearInterval(idleSweep);
  clearTimeout(cut);
  // Ends the server's own timers.
  server.close();
}
