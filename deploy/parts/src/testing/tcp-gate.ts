import { connect, createServer, type Server, type Socket } from 'node:net';
import { Transform } from 'node:stream';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';

/** A TCP gate in front of a real part. It can take the part away from the gate's clients. */
export interface TcpGate {
  /** The part's URL with the gate's address. */
  readonly url: string;
  /** Breaks every connection and refuses new ones. */
  shut(): Promise<void>;
  /** Passes nothing on and refuses nothing, as if packets were lost. Accepts new connections, but never answers. */
  cut(): void;
  /** Delays what is sent from now on by this much, in both directions. 0 ends the delay. */
  slow(delayMs: number): void;
  /** Shows other certificates from the next `open` on. */
  renew(tls: TlsOptions): void;
  /** Lets new connections through. Resets those that were cut. */
  open(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Opens a gate in front of the server of a URL, on a free port of the loopback address.
 * @param tls makes clients speak TLS with the gate
 */
export async function openTcpGate(partUrl: string, tls?: TlsOptions): Promise<TcpGate> {
  let shown = tls;
  const target = new URL(partUrl);
  const sockets = new Set<Socket>();
  let server: Server | undefined;
  let port = 0;
  let isCut = false;
  let delayMs = 0;

  function pass(client: Socket): void {
    keep(client);
    if (isCut) return;
    const part = connect(Number(target.port), target.hostname);
    keep(part);
    for (const socket of [client, part]) {
      socket.setNoDelay(true);
      socket.on('close', () => {
        client.destroy();
        part.destroy();
      });
    }
    client.pipe(sendLater(() => delayMs)).pipe(part);
    part.pipe(sendLater(() => delayMs)).pipe(client);
  }

  function keep(socket: Socket): void {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
  }

  async function open(): Promise<void> {
    if (isCut) for (const socket of sockets) socket.resetAndDestroy();
    isCut = false;
    if (server !== undefined) return;
    const opened = shown === undefined ? createServer({ pauseOnConnect: true }, pass) : createTlsServer(shown, pass);
    opened.on('tlsClientError', () => undefined);
    await new Promise<void>((resolve, reject) => opened.once('error', reject).listen(port, '127.0.0.1', resolve));
    const address = opened.address();
    if (address === null || typeof address === 'string') throw new Error('the gate has no port');
    port = address.port;
    server = opened;
  }

  function cut(): void {
    isCut = true;
    for (const socket of sockets) {
      socket.unpipe();
      socket.pause();
    }
  }

  async function shut(): Promise<void> {
    const open = server;
    if (open === undefined) return;
    server = undefined;
    const closed = new Promise((resolve) => open.close(resolve));
    for (const socket of sockets) socket.destroy();
    await closed;
  }

  await open();
  const url = new URL(partUrl);
  url.hostname = '127.0.0.1';
  url.port = String(port);
  const slow = (ms: number) => {
    delayMs = ms;
  };
  const renew = (next: TlsOptions) => {
    shown = { ...shown, ...next };
  };
  return { url: url.href, shut, cut, slow, renew, open, close: shut };
}

/** Passes each chunk on after the delay that is set when it comes, and never before an earlier chunk. */
function sendLater(delayMs: () => number): Transform {
  const waiting: (() => void)[] = [];
  let passedAtMs = 0;
  const later = (work: () => void) => {
    const nowMs = performance.now();
    passedAtMs = Math.max(passedAtMs, nowMs + delayMs());
    if (waiting.length === 0 && passedAtMs <= nowMs) return work();
    waiting.push(work);
    setTimeout(() => waiting.shift()?.(), passedAtMs - nowMs);
  };
  return new Transform({
    transform(chunk, _, done) {
      later(() => this.push(chunk));
      done();
    },
    flush: (done) => later(done),
  });
}
