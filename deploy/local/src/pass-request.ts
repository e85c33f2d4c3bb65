import { once } from 'node:events';
import {
  type Agent,
  request as ask,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { pipeline } from 'node:stream/promises';
import { endWithClient, Refused } from '@makerbook/http';

const SILENCE_MS_MAX = 30_000;
/** Fields about one connection (RFC 9110, 7.6.1), and `Expect`, which is met once the body is here. */
const HOP_BY_HOP = new Set([
  'connection',
  'expect',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** Drops the fields about one connection: those that are hop-by-hop, and those that `Connection` names. */
export function endToEnd(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const named = new Set((headers.connection ?? '').split(',').map((name) => name.trim().toLowerCase()));
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !HOP_BY_HOP.has(name) && !named.has(name)));
}

export interface PassOptions {
  /** URL of the service, `http://host:port`. */
  readonly target: string;
  readonly agent: Agent;
  /** Headers to send instead of the request's. */
  readonly headers: IncomingHttpHeaders;
  /** The whole body. Undefined: none. */
  readonly body: Buffer | undefined;
}

/**
 * Sends a client's request to a service, and passes the answer on. If the client disconnects, the request to the
 * service ends.
 * @throws Refused 503 if the service does not answer; Error if its answer breaks off: cut the client's then
 */
export async function passRequest(
  request: IncomingMessage,
  response: ServerResponse,
  { target, agent, headers, body }: PassOptions,
): Promise<void> {
  const { hostname, port } = new URL(target);
  const { method, url } = request;
  const length = body === undefined ? {} : { 'content-length': String(body.length) };
  const { 'content-length': _, ...fields } = headers;
  const outgoing = ask({ agent, hostname, port, method, path: url, headers: { ...fields, ...length } });
  response.once('close', () => outgoing.destroy());
  outgoing.setTimeout(SILENCE_MS_MAX, () => outgoing.destroy(new Error(`silent for ${SILENCE_MS_MAX} ms`)));
  // After the head of the answer, the answer itself reports an error too.
  outgoing.on('error', () => undefined);
  outgoing.end(body);
  const answered = once(outgoing, 'response') as Promise<[IncomingMessage]>;
  const [answer] = await answered.catch(({ message }: Error) => {
    const detail = `the service behind this address does not answer now (${message})`;
    throw new Refused({ code: 'unavailable', detail });
  });
  response.writeHead(answer.statusCode ?? 500, endToEnd(answer.headers));
  if (answer.headers['content-type']?.startsWith('text/event-stream')) endWithClient(request, response);
  await pipeline(answer, response);
}
