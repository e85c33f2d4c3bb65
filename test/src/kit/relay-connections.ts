import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A way to a server, which can be cut off: then nothing arrives and nothing is refused, as where packets are lost. */
export interface Relay {
  readonly port: number;
  cut(): void;
  /** New connections work again; those that were cut are reset. */
  restore(): void;
  stop(): Promise<void>;
}

/** Puts a relay on the loopback address before a port of it. */
export async function relayConnections(targetPort: number): Promise<Relay> {
  const sockets = new Set<Socket>();
  let isCut = false;
  const server = createServer({ pauseOnConnect: true }, (inner) => {
    keep(inner);
    if (isCut) return;
    const outer = connect(targetPort, '127.0.0.1');
    keep(outer);
    for (const socket of [inner, outer]) {
      socket.setNoDelay(true);
      socket.on('close', () => {
        inner.destroy();
        outer.destroy();
      });
    }
    inner.pipe(outer).pipe(inner);
  });
  function keep(socket: Socket): void {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
  }
  const reset = () => {
    for (const socket of sockets) socket.resetAndDestroy();
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    cut() {
      isCut = true;
      for (const socket of sockets) {
        socket.unpipe();
        socket.pause();
      }
    },
    restore() {
      isCut = false;
      reset();
    },
    async stop() {
      reset();
      server.close();
      await once(server, 'close');
    },
  };
}
