import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';

/** One JSON-RPC call of a request. */
export interface AskedCall {
  readonly id: number;
  readonly method: string;
  readonly params: readonly unknown[];
}

export interface RpcAnswer {
  readonly id: number;
  readonly result?: unknown;
  readonly error?: RpcError;
}

export interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** Answers a request with a status, or each of its calls. If it throws or returns undefined, the connection ends. */
export type AnswerCalls = (
  calls: readonly AskedCall[],
) => Promise<{ readonly status: number } | readonly RpcAnswer[] | undefined>;

export interface RpcServerOptions {
  /** Absent: a free port. */
  readonly port?: number | undefined;
  /** A longer request gets status 413. */
  readonly requestBytesMax?: number | undefined;
  /** True while only the first half of each answer is sent. */
  readonly isHalf?: () => boolean;
}

/** A JSON-RPC server on the loopback address, over HTTP and, on the same port, over WebSocket with `newHeads`. */
export interface RpcServer {
  readonly url: string;
  readonly wsUrl: string;
  /** Sends the header of a new block to all subscribers. */
  announce(header: unknown): void;
  /** Breaks every connection. */
  disconnect(): void;
  close(): Promise<void>;
}

/** A page of any origin may ask the server, as it may ask anvil. */
const HEADERS = {
  'content-type': 'application/json',
  'access-control-allow-origin': '*',
  'access-control-allow-headers': '*',
};

export async function serveRpc(
  answer: AnswerCalls,
  { port = 0, requestBytesMax = Number.POSITIVE_INFINITY, isHalf = () => false }: RpcServerOptions = {},
): Promise<RpcServer> {
  const cut = (text: string) => (isHalf() ? text.slice(0, text.length / 2) : text);
  const respond = async (body: Buffer, response: ServerResponse) => {
    if (body.length > requestBytesMax) {
      response.writeHead(413).end(`content length too large (${body.length}>${requestBytesMax})\n`);
      return;
    }
    const said = await answerText(body.toString(), answer);
    if (typeof said === 'string') response.writeHead(200, HEADERS).end(cut(said));
    else response.writeHead(said.status, { ...HEADERS, 'retry-after': '1' }).end('{}');
  };
  const server = createServer((request, response) => {
    if (request.method !== 'POST') return void response.writeHead(204, HEADERS).end();
    // If the node behind is down, this one is too.
    readBody(request)
      .then((body) => respond(body, response))
      .catch(() => response.destroy());
  });
  // Never close an idle connection: the client may be using it again at that moment.
  server.keepAliveTimeout = 0;
  const sockets = new WebSocketServer({ server });
  sockets.on('error', () => undefined);
  const subscribed = new Map<WebSocket, string>();
  sockets.on('connection', (socket) => {
    const subscribe: AnswerCalls = async (calls) => {
      const [call, ...others] = calls;
      if (call?.method !== 'eth_subscribe' || call.params[0] !== 'newHeads' || others.length > 0) return answer(calls);
      // Ask first: this throws if the node is down.
      await answer([{ id: 0, method: 'eth_blockNumber', params: [] }]);
      subscribed.set(socket, `0x${subscribed.size + 1}`);
      return [{ id: call.id, result: subscribed.get(socket) }];
    };
    socket.on('error', () => undefined);
    socket.on('close', () => subscribed.delete(socket));
    socket.on('message', (data) => {
      answerText(String(data), subscribe)
        .then((said) => (typeof said === 'string' ? socket.send(cut(said)) : socket.terminate()))
        .catch(() => socket.terminate());
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, '127.0.0.1', resolve);
  });
  const disconnect = () => {
    for (const client of sockets.clients) client.terminate();
    server.closeAllConnections();
  };
  const { port: taken } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${taken}`,
    wsUrl: `ws://127.0.0.1:${taken}`,
    announce: (result) => {
      for (const [socket, subscription] of subscribed) {
        socket.send(JSON.stringify({ jsonrpc: '2.0', method: 'eth_subscription', params: { subscription, result } }));
      }
    },
    disconnect,
    close: async () => {
      disconnect();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

async function answerText(body: string, answer: AnswerCalls): Promise<string | { readonly status: number }> {
  const asked = parse(body);
  if (asked === undefined) return JSON.stringify({ jsonrpc: '2.0', id: null, ...PARSE_ERROR });
  const said = await answer([asked].flat());
  if (said === undefined) throw new Error('away');
  if ('status' in said) return said;
  const answers = said.map((each) => ({ jsonrpc: '2.0', ...each }));
  return JSON.stringify(Array.isArray(asked) ? answers : answers[0]);
}

const PARSE_ERROR = { error: { code: -32700, message: 'parse error' } };

function parse(body: string): AskedCall | AskedCall[] | undefined {
  try {
    const asked = JSON.parse(body);
    const calls = [asked].flat().map((call) => ({ ...call, params: call.params ?? [] }));
    return Array.isArray(asked) ? calls : calls[0];
  } catch {
    return undefined;
  }
}
