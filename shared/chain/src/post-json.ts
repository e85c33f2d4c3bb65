import { Agent as HttpAgent, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { RpcUnavailable } from './failures.js';
import { hideSecretsOf } from './hide-secrets.js';

export interface JsonPoster {
  /** Posts a JSON text and returns the parsed answer. Throws RpcUnavailable. */
  post(body: string): Promise<unknown>;
  close(): void;
}

export interface PosterOptions {
  readonly url: string;
  /** The time limit from the start of the request to the last byte of the answer. */
  readonly timeoutMs: number;
  /** A longer answer is refused. */
  readonly responseBytesMax: number;
  /** Posts beyond this many connections wait, and the wait counts against their time limit. */
  readonly connectionsMax: number;
}

/**
 * Posts to one address over connections that stay open. Credentials in the URL go into the Authorization header. Errors
 * name only the host.
 */
export function createJsonPoster({ url, timeoutMs, responseBytesMax, connectionsMax }: PosterOptions): JsonPoster {
  const target = new URL(url);
  const secure = target.protocol === 'https:';
  const agent = new (secure ? HttpsAgent : HttpAgent)({ keepAlive: true, maxSockets: connectionsMax });
  const request = secure ? httpsRequest : httpRequest;
  const hideSecrets = hideSecretsOf(target);
  const headers: Record<string, string> = { 'content-type': 'application/json', accept: 'application/json' };
  if (target.username !== '') {
    const credentials = `${decodeURIComponent(target.username)}:${decodeURIComponent(target.password)}`;
    headers['authorization'] = `Basic ${Buffer.from(credentials).toString('base64')}`;
    target.username = '';
    target.password = '';
  }
  const where = target.host;
  // Hide secrets before cutting: a secret that is cut off would not be found.
  const quote = (text: string) => hideSecrets(text).slice(0, 100);

  const post = (body: string): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const fail = (why: string, cause?: unknown) =>
        reject(new RpcUnavailable(`${where} ${hideSecrets(why)}`, cause === undefined ? {} : { cause }));
      const outgoing = request(
        target,
        { method: 'POST', agent, headers: { ...headers, 'content-length': Buffer.byteLength(body) } },
        (incoming) => {
          const chunks: Buffer[] = [];
          let bytes = 0;
          incoming.on('data', (chunk: Buffer) => {
            bytes += chunk.length;
            if (bytes > responseBytesMax) {
              fail(`answered with more than ${responseBytesMax} bytes`);
              outgoing.destroy();
            } else chunks.push(chunk);
          });
          incoming.on('error', (error) => fail(`broke off its answer: ${error.message}`, error));
          incoming.on('end', () => {
            clearTimeout(timer);
            const text = Buffer.concat(chunks).toString('utf8');
            const status = incoming.statusCode ?? 0;
            if (isAway(status)) return fail(`answered ${status}: ${quote(text)}`);
            try {
              resolve(JSON.parse(text));
            } catch {
              fail(`answered ${status} with no JSON: ${quote(text)}`);
            }
          });
        },
      );
      const timer = setTimeout(() => {
        fail(`did not answer within ${timeoutMs} ms`);
        outgoing.destroy();
      }, timeoutMs);
      outgoing.on('error', (error) => {
        clearTimeout(timer);
        fail(`cannot be reached: ${error.message || (error as NodeJS.ErrnoException).code}`, error);
      });
      outgoing.on('close', () => clearTimeout(timer));
      outgoing.end(body);
    });

  return { post, close: () => agent.destroy() };
}

/** True if the server did not process the calls, because it denies access, limits the rate, or fails. */
function isAway(status: number): boolean {
  return status >= 500 || [401, 403, 408, 429].includes(status);
}
