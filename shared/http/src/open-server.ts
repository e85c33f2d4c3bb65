import { createServer, type RequestListener, type Server } from 'node:http';
import { Server as TcpServer } from 'node:net';
import { type Connections, type FollowOptions, followConnections } from './follow-connections.js';

export interface ServerOptions extends FollowOptions {
  /** The address to listen on: `127.0.0.1` for this machine alone, `0.0.0.0` or `::` for all. */
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** Request line and headers together. */
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

/** Longer than any answer takes. A connection on which nothing moves for so long is cut: its client reads no answer. */
const SILENCE_MS_MAX = 60_000;

/**
 * How long a connection without a request stays open. Proxies keep theirs for less (AWS ALB for 60 s), and must be the
 * first to close: a request that crosses the closing of its connection is lost, and no proxy repeats a POST.
 */
const IDLE_MS_MAX = 75_000;

/**
 * While a server stops, a connection on which nothing moves stays open for so long: a request that is on its way is
 * answered, and its answer ends the connection. One that crosses the closing of its connection would be lost.
 */
const LAST_REQUEST_MS_MAX = 1_000;

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
    // Node.js would not answer with a problem document.
    requireHostHeader: false,
  });
  server.setTimeout(SILENCE_MS_MAX);
  // A client may close its side of the connection behind its request: it still gets the answer, and the connection ends
  // then.
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

/** Takes no connections; ends each with the next answer, idle ones a moment later, and what is left after `drainMs`. */
async function stopServer(server: Server, connections: Connections, drainMs: number): Promise<void> {
  connections.endWithAnswers();
  // The close of the HTTP server would cut idle connections at once.
  const closed = new Promise<void>((resolve) => TcpServer.prototype.close.call(server, () => resolve()));
  let idleSweep: NodeJS.Timeout | undefined;
  const idleEnd = setTimeout(
    () => {
      // What has arrived is read between the two.
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
