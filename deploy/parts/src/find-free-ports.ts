import { createServer } from 'node:net';

// Stay below the ports that systems use for outgoing connections, which could take a port between check and use.
const LOWEST_PORT = 15_000;
const HIGHEST_PORT = 32_000;
const TRIES_MAX = 1_000;

/**
 * Finds TCP ports on which nothing listens on the loopback address.
 * They are random: two callers at the same time hardly ever get the same.
 */
export async function findFreePorts(count: number): Promise<number[]> {
  const found = new Set<number>();
  for (let tries = 0; found.size < count; tries += 1) {
    if (tries > TRIES_MAX) throw new Error(`no ${count} free TCP ports between ${LOWEST_PORT} and ${HIGHEST_PORT}`);
    const port = LOWEST_PORT + Math.floor(Math.random() * (HIGHEST_PORT - LOWEST_PORT));
    if (!found.has(port) && (await isPortFree(port, '127.0.0.1'))) found.add(port);
  }
  return [...found];
}

/** Finds one port, see {@link findFreePorts}. */
export async function findFreePort(): Promise<number> {
  const [port] = await findFreePorts(1);
  if (port === undefined) throw new Error('no free TCP port');
  return port;
}

/** True if a server could listen on this port now. Without `host`: on all addresses of the machine. */
export function isPortFree(port: number, host: string | undefined): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, ...(host === undefined ? {} : { host }), exclusive: true }, () =>
      server.close(() => resolve(true)),
    );
  });
}
