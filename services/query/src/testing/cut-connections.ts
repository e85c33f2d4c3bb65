import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** A part as the service reaches it, which can be taken away and given back. */
export interface Cut {
  readonly url: string;
  /** Ends every connection and refuses new ones. */
  cut(): void;
  restore(): void;
  stop(): Promise<void>;
}

/** Puts a TCP relay before the server of a URL. */
export async function cutConnections(url: string): Promise<Cut> {
  const target = new URL(url);
  const sockets = new Set<Socket>();
  let isCut = false;
  const server = createServer((inner) => {
    if (isCut) {
      inner.resetAndDestroy();
      return;
    }
    const outer = connect(Number(target.port), target.hostname);
    for (const socket of [inner, outer]) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        inner.destroy();
        outer.destroy();
      });
    }
    inner.pipe(outer).pipe(inner);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const relayed = new URL(url);
  relayed.host = `127.0.0.1:${address.port}`;
  const drop = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: relayed.href,
    cut() {
      isCut = true;
      drop();
    },
    restore() {
      isCut = false;
    },
    async stop() {
      drop();
      server.close();
      await once(server, 'close');
    },
  };
}
