import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import type { BotJudge } from './judge-bot.js';
import { type HashOrder, type Lesson, readEvent, readExchange } from './read-exchange.js';

/** The faults and the share of requests that each one hits. The rest goes through. */
const SHARES = {
  /** The request never reaches the service. */
  request_lost: 0.05,
  /** The service does what was asked, and the bot gets no answer. */
  answer_lost: 0.06,
  /** The connection ends in the middle of the answer. */
  answer_cut: 0.03,
  /** The answer comes late: some bots do not wait for it. */
  answer_late: 0.04,
  /** The service gets the request twice. The bot gets the second answer. */
  request_repeated: 0.03,
} as const;

type Fault = keyof typeof SHARES;

const LATE_MS: Bounds = { min: 500, max: 11_000 };
const STREAM_MS: Bounds = { min: 2_000, max: 20_000 };
/** Shifts the service's `X-Server-Time` by up to this. Draws a new shift after so many requests. */
const SKEW_MS_MAX = 2_000;
const REQUESTS_PER_SKEW = 50;
/** Headers of one connection, or of a body that is passed on in another form. */
const OWN_HEADERS = ['connection', 'content-encoding', 'content-length', 'host', 'keep-alive', 'transfer-encoding'];

export interface NetworkOptions {
  /** The service, without a slash at the end. */
  readonly baseUrl: string;
  /** A port on 127.0.0.1. 0 takes any free one. */
  readonly port: number;
  readonly seed: number;
  readonly judge: BotJudge;
  readonly hashOrder: HashOrder;
  readonly fetch: typeof fetch;
  readonly nowMs: () => number;
  /** How late a late answer is. */
  readonly lateMs?: Bounds;
}

interface Bounds {
  readonly min: number;
  readonly max: number;
}

/** Opens a server that passes requests on to the service, and does to them what bad networks do. */
export async function openNetwork(options: NetworkOptions) {
  const { baseUrl, port, seed, judge, hashOrder, fetch, nowMs, lateMs = LATE_MS } = options;
  const random = drawFrom(seed);
  const between = ({ min, max }: Bounds) => min + random() * (max - min);
  /** Keyed by request and by what was done to it. */
  const counts: Record<string, number> = {};
  const closing = new AbortController();
  let [requests, skewMs] = [0, 0];

  async function pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [method = 'GET', url] = [request.method, new URL(`${baseUrl}${request.url}`)];
    if (requests % REQUESTS_PER_SKEW === 0) skewMs = between({ min: -SKEW_MS_MAX, max: SKEW_MS_MAX });
    requests += 1;
    // Draw all random numbers of a request when it comes: other requests come before its answer.
    const drawn = drawFault(random());
    const [lateForMs, streamMs] = [between(lateMs), between(STREAM_MS)];
    // Do not cut a stream here: `passStream` does so after a while.
    const fault = url.pathname.endsWith('/stream') && drawn !== 'request_lost' ? undefined : drawn;
    const count = (what: string) => {
      const name = `${method} ${url.pathname.replace(/0x[0-9a-f]{64}$/i, '{orderHash}')}: ${what}`;
      counts[name] = (counts[name] ?? 0) + 1;
    };
    judge.noteRequest(nowMs(), method === 'GET' ? url.searchParams.get('salt') : null);
    const body = await readBody(request);
    const send = () =>
      fetch(url, { method, headers: headersFor(request), redirect: 'manual', ...(body !== '' && { body }) });
    if (fault !== undefined) count(fault);
    if (fault === 'request_lost') {
      request.socket.destroy();
      return;
    }
    const askedAtMs = nowMs();
    if (fault === 'request_repeated') await (await send()).text();
    const answered = await send();
    const headers = headersOf(answered, skewMs);
    if (answered.headers.get('content-type')?.startsWith('text/event-stream') && answered.body !== null) {
      response.writeHead(answered.status, headers);
      await passStream(answered.body, response, streamMs, (lesson) => judge.learn(lesson, askedAtMs, nowMs(), true));
      count('stream_cut');
      return;
    }
    const answer = await answered.text();
    const isBehind = answered.headers.has('x-read-lag');
    const lesson = readExchange({ method, url, body, status: answered.status, answer, isBehind }, hashOrder);
    if (fault === 'answer_late') await pause(lateForMs, undefined, { signal: closing.signal });
    const isHeard = await respond(response, answered.status, headers, answer, fault);
    if (fault === undefined) count(isHeard ? 'passed' : 'not_waited_for');
    judge.learn(lesson, askedAtMs, nowMs(), isHeard);
  }

  const server = createServer((request, response) => {
    request.on('error', () => undefined);
    response.on('error', () => undefined);
    // The service is down, or has ended the connection: end the bot's connection too.
    pass(request, response).catch(() => request.socket.destroy());
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    counts,
    async close(): Promise<void> {
      closing.abort();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** @returns whether the whole answer has gone to the bot */
async function respond(
  response: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string>>,
  answer: string,
  fault: Fault | undefined,
): Promise<boolean> {
  if (response.destroyed) return false;
  if (fault === 'answer_lost') {
    response.destroy();
    return false;
  }
  const bytes = Buffer.from(answer);
  response.writeHead(status, { ...headers, 'Content-Length': bytes.length });
  if (fault === 'answer_cut') {
    response.write(bytes.subarray(0, bytes.length / 2), () => response.destroy());
    return false;
  }
  response.end(bytes);
  await Promise.race([once(response, 'finish'), once(response, 'close')]);
  return response.writableFinished;
}

/** Passes events on until the stream ends, the bot leaves, or the time is over. Then cuts the stream in mid-event. */
async function passStream(
  body: ReadableStream<Uint8Array>,
  response: ServerResponse,
  cutAfterMs: number,
  learn: (lesson: Lesson) => void,
): Promise<void> {
  const cutAtMs = performance.now() + cutAfterMs;
  const reader = body.getReader();
  response.on('close', () => void reader.cancel().catch(() => undefined));
  const decoder = new TextDecoder();
  let text = '';
  for (;;) {
    const { done, value } = await reader.read();
    const isCut = performance.now() >= cutAtMs;
    if (done || response.destroyed) break;
    const passed = isCut ? value.subarray(0, value.length / 2) : value;
    response.write(passed);
    text += decoder.decode(passed, { stream: true });
    const blocks = text.split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) {
      const [, event = '', data = ''] = /^(?:id: .*\n)?event: (.*)\ndata: (.*)$/.exec(block) ?? [];
      learn(readEvent(event, data));
    }
    if (isCut) break;
  }
  response.destroy();
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

function headersFor(request: IncomingMessage): Record<string, string> {
  const kept = Object.entries(request.headers).filter(
    ([name]) => !OWN_HEADERS.includes(name) && name !== 'accept-encoding',
  );
  return Object.fromEntries(kept.map(([name, value]) => [name, String(value)]));
}

function headersOf(answered: Response, skewMs: number): Record<string, string> {
  const headers = Object.fromEntries([...answered.headers].filter(([name]) => !OWN_HEADERS.includes(name)));
  const told = headers['x-server-time'];
  if (told !== undefined) headers['x-server-time'] = String(Math.round(Number(told) + skewMs));
  return headers;
}

function drawFault(draw: number): Fault | undefined {
  let bound = 0;
  return (Object.keys(SHARES) as Fault[]).find((fault) => {
    bound += SHARES[fault];
    return draw < bound;
  });
}

/** Numbers from 0 to 1, the same for the same seed (mulberry32). */
function drawFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
