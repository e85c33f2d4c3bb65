import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One JSON-RPC call of a request. */
export interface AskedCall {
  readonly id: number;
  readonly method: string;
  readonly params: readonly unknown[];
}

/** Stands between a watcher and a node. */
export interface Gate {
  readonly url: string;
  close(): Promise<void>;
}

export interface RpcAnswer {
  readonly id: number;
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

/** How a node answers a request: with a status, or call by call. */
export type Misbehaviour = (
  calls: readonly AskedCall[],
  /** Asks the real node these calls. */
  forward: (calls: readonly AskedCall[]) => Promise<readonly RpcAnswer[]>,
) => Promise<{ readonly status: number } | readonly RpcAnswer[]>;

/**
 * A real node that does not always answer as it should.
 * @param requestBytesMax a longer request is 413
 */
export async function startMisbehavingNode(
  nodeUrl: string,
  answer: Misbehaviour,
  requestBytesMax = Number.POSITIVE_INFINITY,
): Promise<Gate> {
  const forward = async (calls: readonly AskedCall[]) => {
    const body = JSON.stringify(calls.map((call) => ({ jsonrpc: '2.0', ...call })));
    // The node leaves connections open.
    const headers = { 'content-type': 'application/json', connection: 'keep-alive' };
    const answered = await fetch(nodeUrl, { method: 'POST', headers, body });
    return (await answered.json()) as RpcAnswer[];
  };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    const respond = async () => {
      const body = Buffer.concat(chunks);
      if (body.length > requestBytesMax) {
        response.writeHead(413).end(`content length too large (${body.length}>${requestBytesMax})\n`);
        return;
      }
      const asked = JSON.parse(body.toString()) as AskedCall | AskedCall[];
      const said = await answer([asked].flat(), forward);
      if ('status' in said) response.writeHead(said.status).end('away');
      else response.end(JSON.stringify(Array.isArray(asked) ? said : said[0]));
    };
    // If the node behind is gone, this one is too.
    request.on('end', () => respond().catch(() => response.destroy()));
  });
  // Keeps a connection from being closed at the moment at which it is used again.
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

/** A node that answers, and knows no block after this one. */
export function freezeAt(headNumber: number): Misbehaviour {
  return async (calls, forward) => {
    const answers: RpcAnswer[] = [];
    for (const call of calls) {
      const [first, second] = call.params as [unknown, unknown];
      const params = first === 'latest' ? [hexOf(headNumber), second] : call.params;
      const [answer] = await forward([{ ...call, params }]);
      if (answer === undefined) throw new Error('the node gave no answer');
      const blockHash = /"blockHash":"(0x[0-9a-f]{64})"/.exec(JSON.stringify(params))?.[1];
      if (call.method === 'eth_blockNumber') answers.push({ ...answer, result: hexOf(headNumber) });
      else if (call.method === 'eth_getBlockByNumber') {
        answers.push(Number(params[0]) > headNumber ? { ...answer, result: null } : answer);
      } else if (blockHash !== undefined && (await numberOf(blockHash, forward)) > headNumber) {
        answers.push({ id: call.id, error: { code: -32000, message: 'header not found' } });
      } else answers.push(answer);
    }
    return answers;
  };
}

async function numberOf(blockHash: string, forward: Parameters<Misbehaviour>[1]): Promise<number> {
  const [answer] = await forward([{ id: 1, method: 'eth_getBlockByHash', params: [blockHash, false] }]);
  return Number((answer?.result as { number: string } | null)?.number);
}

function hexOf(value: number): string {
  return `0x${value.toString(16)}`;
}
