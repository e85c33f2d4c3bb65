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
/** Fields about one connection (RFC 9110, 7.6.1). `Expect` has been met: the body is here. */
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

/** The fields that are not about one connection: neither hop-by-hop by name, nor named by `Connection`. */
export function endToEnd(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const named = new Set((headers.connection ?? '').split(',').map((name) => name.trim().toLowerCase()));
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !HOP_BY_HOP.has(name) && !named.has(name)));
}

export interface PassOptions {
  /** The service, `http://host:port`. */
  readonly target: string;
  readonly agent: Agent;
  /** Instead of those of the request. */
  readonly headers: IncomingHttpHeaders;
  /** The whole body; undefined: none. */
  readonly body: Buffer | undefined;
}

/**
 * Asks a service what a client asked, and passes its answer on. A client that goes away ends the request to the
 * service.
 * @throws Refused 503, where the service does not answer; Error where its answer breaks off: the client's is cut then
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
  // What comes behind the head of the answer is said by the answer too.
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
