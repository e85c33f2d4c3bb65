import { Agent, request } from 'node:http';

/** A request of a load. */
export interface LoadRequest {
  readonly method: string;
  readonly url: string;
  /** JSON. */
  readonly body?: string;
}

/** The outcome of a load. */
export interface LoadOutcome<T> {
  readonly answered: readonly { readonly sent: T; readonly status: number }[];
  /** The error of each request that got no answer. */
  readonly dropped: readonly string[];
}

/**
 * Sends requests on this many keep-alive connections, one after the other on each, until the server takes no new
 * connection. It does not reuse a connection after an answer with `Connection: close`, as HTTP says.
 * @param next the next request; undefined: this connection sends no more
 */
export async function loadUntilRefused<T extends LoadRequest>(
  connections: number,
  next: () => T | undefined,
): Promise<LoadOutcome<T>> {
  const answered: { sent: T; status: number }[] = [];
  const dropped: string[] = [];
  const send = async (agent: Agent): Promise<boolean> => {
    const sent = next();
    if (sent === undefined) return false;
    const outcome = await sendOne(agent, sent);
    if (typeof outcome === 'number') answered.push({ sent, status: outcome });
    else if (outcome !== 'refused') dropped.push(outcome);
    return outcome !== 'refused';
  };
  await Promise.all(
    Array.from({ length: connections }, async () => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      while (await send(agent));
      agent.destroy();
    }),
  );
  return { answered, dropped };
}

function sendOne(agent: Agent, { method, url, body = '' }: LoadRequest): Promise<number | string> {
  return new Promise((resolve) => {
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    const asked = request(url, { agent, method, headers }, (response) => {
      response.on('error', (error) => resolve(error.message));
      response.on('end', () => resolve(response.statusCode ?? 0));
      response.resume();
    });
    asked.on('error', (error: NodeJS.ErrnoException) => {
      // The operating system may have accepted a new connection that the server never did.
      const isNew = !asked.reusedSocket && (error.code === 'ECONNREFUSED' || error.code === 'ECONNRESET');
      resolve(
        isNew ? 'refused' : `${error.code ?? error.message} on ${asked.reusedSocket ? 'an open' : 'a new'} connection`,
      );
    });
    asked.end(body);
  });
}
