import { connect, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';

/** A TCP gate in front of a real part: while it is shut, the part is away for clients behind the gate. */
export interface TcpGate {
  /** The part's URL with the gate's address. */
  readonly url: string;
  /** Breaks every connection and refuses new ones. */
  shut(): Promise<void>;
  open(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Opens a gate in front of the server of a URL, on a free port of the loopback address.
 * @param tls makes clients speak TLS with the gate
 */
export async function openTcpGate(partUrl: string, tls?: TlsOptions): Promise<TcpGate> {
  const target = new URL(partUrl);
  const sockets = new Set<Socket>();
  let server: Server | undefined;
  let port = 0;

  function pass(client: Socket): void {
    const part = connect(Number(target.port), target.hostname);
    for (const socket of [client, part]) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        client.destroy();
        part.destroy();
      });
    }
    client.pipe(part).pipe(client);
  }

  async function open(): Promise<void> {
    const opened = tls === undefined ? createServer(pass) : createTlsServer(tls, pass);
    opened.on('tlsClientError', () => undefined);
    await new Promise<void>((resolve, reject) => opened.once('error', reject).listen(port, '127.0.0.1', resolve));
    const address = opened.address();
    if (address === null || typeof address === 'string') throw new Error('the gate has no port');
    port = address.port;
    server = opened;
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
  return { url: url.href, shut, open, close: shut };
}
