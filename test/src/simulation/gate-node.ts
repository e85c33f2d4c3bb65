import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * Nobody asks the node while it makes a block, and it makes none while somebody asks. anvil answers a read of its newest
 * block, by hash or not, with the state after the next one where that is made meanwhile; a node of Kaia does not.
 */
export interface NodeGate {
  /** Where the services ask the node. */
  readonly url: string;
  /** Sends a body to the node, as soon as no block is being made. @returns the answer's text */
  ask(body: string): Promise<string>;
  /** Does the work as soon as everybody who asked has an answer; others wait meanwhile. */
  alone<T>(work: (ask: (body: string) => Promise<string>) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

export async function openNodeGate(nodeUrl: string): Promise<NodeGate> {
  let asking = 0;
  let isQuiet = () => {};
  let making: Promise<unknown> | undefined;

  async function pass(body: string): Promise<string> {
    // The node leaves connections open.
    const headers = { 'content-type': 'application/json', connection: 'keep-alive' };
    return (await fetch(nodeUrl, { method: 'POST', headers, body })).text();
  }
  async function ask(body: string): Promise<string> {
    while (making !== undefined) await making;
    asking += 1;
    try {
      return await pass(body);
    } finally {
      asking -= 1;
      if (asking === 0) isQuiet();
    }
  }
  async function quiet(): Promise<void> {
    if (asking > 0)
      await new Promise<void>((resolve) => {
        isQuiet = resolve;
      });
  }
  const { url, close } = await serveNode(ask);
  return {
    url,
    ask,
    async alone(work) {
      while (making !== undefined) await making;
      const made = quiet().then(() => work(pass));
      making = made
        .catch(() => undefined)
        .finally(() => {
          making = undefined;
        });
      return made;
    },
    close,
  };
}

/** Answers like a node over HTTP. @param answer a body: undefined for 503; where it rejects, the request is broken off */
export async function serveNode(
  answer: (body: string) => Promise<string | undefined>,
): Promise<{ readonly url: string; close(): Promise<void> }> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      answer(Buffer.concat(chunks).toString()).then(
        (said) => response.writeHead(said === undefined ? 503 : 200, { 'content-type': 'application/json' }).end(said),
        () => response.destroy(),
      );
    });
  });
  // Not to be closed at the very moment at which it is used again.
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
