import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { paths, problemBody } from '@makerbook/contracts-http';

/**
 * Opens a bad gateway in front of the service. Passes requests on, but loses the answer of the first POST of orders.
 * Refuses the first two GETs, not counting `info`, with 429, and sends only half of the second answer. The first
 * cancellation, a DELETE or a POST …/cancellations, gets a page of a gateway, and the second 503.
 */
export async function openBadGateway(baseUrl: string) {
  const answers: string[] = [];
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '' } = request;
    const kind = url === paths.cancellations ? 'DELETE' : method;
    const body = await text(request);
    const isInfo = url === paths.info;
    const before = answers.filter((one) => one.startsWith(kind)).length;
    const isFirst = before === 0;
    const refusal = { GET: 'rate_limited', DELETE: 'unavailable' } as const;
    if (before < 2 && !isInfo && (kind === 'GET' || kind === 'DELETE')) {
      const problem = problemBody(refusal[kind], { detail: 'not now' }, 'request-1');
      const page = kind === 'DELETE' && isFirst;
      answers.push(`${kind} ${page ? 502 : problem.status}`);
      if (page) return void response.writeHead(502, { 'Content-Type': 'text/html' }).end('<h1>Bad gateway</h1>');
      const text = JSON.stringify(problem);
      const headers = { 'Content-Type': 'application/problem+json', 'Content-Length': text.length };
      response.writeHead(problem.status, { ...headers, ...(kind === 'GET' && { 'Retry-After': '1' }) });
      if (kind === 'GET' && !isFirst) response.write(text.slice(0, 9), () => response.destroy());
      else response.end(text);
      return;
    }
    const { prefer = '' } = request.headers;
    const headers = { 'Content-Type': 'application/json', Prefer: String(prefer) };
    const real = await fetch(`${baseUrl}${url}`, { method, headers, ...(body === '' ? {} : { body }) });
    const answered = await real.text();
    if (!isInfo) answers.push(`${kind} ${isFirst && kind === 'POST' ? 'lost' : real.status}`);
    if (isFirst && kind === 'POST') request.socket.destroy();
    else {
      for (const name of ['content-type', 'x-log-position', 'x-receipt', 'x-server-time']) {
        response.setHeader(name, real.headers.get(name) ?? []);
      }
      response.writeHead(real.status).end(answered);
    }
  }
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`,
    /** Method and status of each answer, in order; `lost` if the service answered and the maker heard nothing. */
    answers: answers as readonly string[],
    async close(): Promise<void> {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
