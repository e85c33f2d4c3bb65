import { Agent, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { brotliCompressSync } from 'node:zlib';
import { paths } from '@makerbook/contracts-http';

/** Where an attack goes, and what it may use. */
export interface Target {
  readonly host: string;
  readonly port: number;
  /** A POST of 100 signed orders, of which the last signature is somebody else's. */
  readonly batch: string;
}

/** How often each answer came: a status, or what became of the connection. */
export type Answers = Record<string, number>;

interface Attack {
  /** What is done, for the table. */
  readonly does: string;
  /** Goes on until the signal. */
  readonly run: (target: Target, answers: Answers, signal: AbortSignal) => Promise<void>;
}

/** Clients of their own for every service: none of them is the prober's 127.0.0.1. */
const ADDRESSES = Array.from({ length: 8 }, (_, n) => `127.0.0.${n + 2}`);
const CONNECTIONS = 64;
/** So many that none of them comes to its limit. */
const MANY_ADDRESSES = Array.from({ length: 44 }, (_, n) => `127.0.1.${n + 1}`);

const json = { 'Content-Type': 'application/json' };
const head = (length: number | 'chunked') => {
  const framing = length === 'chunked' ? 'Transfer-Encoding: chunked' : `Content-Length: ${length}`;
  return `POST ${paths.limitOrders} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${framing}\r\n\r\n`;
};
const repeat = <T>(count: number, make: (n: number) => T) => Array.from({ length: count }, (_, n) => make(n));
const members = (count: number) => Object.fromEntries(repeat(count, (n) => [`key${n}`, 1]));
const hashes = repeat(100, (n) => `0x${(n + 1).toString(16).padStart(64, '0')}`).join(',');
const signatures = repeat(100, () => `0x${'11'.repeat(64)}1b`).join(',');
const unknownHashes = `${paths.limitOrders}?orderHashes=${hashes}&signatures=${signatures}`;

/** Attacks by their names. */
export const attacks: Readonly<Record<string, Attack>> = {
  packed: {
    does: '50 POSTs a second of 520,000 "[" packed into 19 bytes',
    run: requests(50, { body: brotliCompressSync('['.repeat(520_000)), headers: { 'Content-Encoding': 'br' } }),
  },
  'deep JSON': { does: '50 POSTs a second of 250,000 "["', run: requests(50, { body: '['.repeat(250_000) }) },
  'wide JSON': {
    does: '50 POSTs a second of 100 items with 200 unknown keys each, 250 kB',
    run: requests(50, { body: JSON.stringify(repeat(100, () => members(200))) }),
  },
  'slow headers': {
    does: '300 connections that send a byte of their head each second',
    run: sockets(300, slowly(head(10))),
  },
  'slow bodies': {
    does: '300 connections that send a byte of their body each second',
    run: sockets(300, slowly(' '.repeat(1_000), head(1_000))),
  },
  'endless bodies': {
    does: '10 connections that send bodies without end, opened anew when closed',
    run: sockets(10, endless),
  },
  'idle connections': {
    does: '10,000 connections that send nothing, of 44 addresses',
    run: sockets(10_000, idle, MANY_ADDRESSES),
  },
  'health flood': {
    does: '300 GETs of /readyz a second',
    run: requests(300, { method: 'GET', path: '/readyz' }),
  },
  'batches refused': {
    does: '50 POSTs a second of 100 orders, the last signature wrong',
    run: (target, answers, signal) => requests(50, { body: target.batch })(target, answers, signal),
  },
  'unknown hashes': {
    does: '50 DELETEs a second of 100 unknown hashes',
    run: requests(50, { method: 'DELETE', path: unknownHashes }),
  },
  pipelined: {
    does: '8 connections that send 20 of those DELETEs at once, each second',
    run: sockets(8, pipelined),
  },
};

interface Asked {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

/** So many requests a second, whether answers come or not, over connections that are kept, by all addresses in turn. */
function requests(perSecond: number, { method = 'POST', path = paths.limitOrders, headers = {}, body }: Asked) {
  return async (target: Target, answers: Answers, signal: AbortSignal): Promise<void> => {
    const agents = ADDRESSES.map(
      (localAddress) => new Agent({ keepAlive: true, maxSockets: CONNECTIONS, localAddress }),
    );
    let sent = 0;
    const startedAt = performance.now();
    await every(10, signal, () => {
      for (; sent < ((performance.now() - startedAt) / 1000) * perSecond; sent += 1) {
        const agent = agents[sent % agents.length] ?? false;
        const length = body === undefined ? {} : { ...json, 'Content-Length': Buffer.byteLength(body) };
        const { host, port } = target;
        const asked = { agent, host, port, method, path, headers: { ...length, ...headers } };
        const outgoing = request(asked, (response) => {
          count(answers, String(response.statusCode));
          response.on('error', () => undefined);
          response.resume();
        });
        outgoing.on('error', (error: NodeJS.ErrnoException) => count(answers, error.code ?? error.message));
        outgoing.end(body);
      }
    });
    for (const agent of agents) agent.destroy();
  };
}

/** Keeps so many connections open: what ends is opened anew a moment later. */
function sockets(
  total: number,
  use: (socket: Socket, signal: AbortSignal) => void,
  addresses: readonly string[] = ADDRESSES,
): Attack['run'] {
  return async (target, answers, signal) => {
    const open = new Set<Socket>();
    let next = 0;
    await every(20, signal, () => {
      for (let more = 0; open.size < total && more < 200; more += 1) {
        const localAddress = addresses[next++ % addresses.length] ?? '127.0.0.2';
        const socket = connect({ host: target.host, port: target.port, localAddress });
        open.add(socket);
        socket.once('data', (data) => count(answers, /^HTTP\/1.1 (\d+)/.exec(data.toString())?.[1] ?? 'an answer'));
        socket.on('data', () => undefined);
        socket.on('error', (error: NodeJS.ErrnoException) => count(answers, error.code ?? error.message));
        socket.on('close', () => open.delete(socket));
        socket.on('connect', () => {
          count(answers, 'connected');
          use(socket, signal);
        });
      }
    });
    for (const socket of open) socket.destroy();
  };
}

/** A text a byte a second, behind what is sent at once. */
function slowly(text: string, first = ''): (socket: Socket) => void {
  return (socket) => {
    socket.write(first);
    let at = 0;
    const timer = setInterval(() => {
      if (at < text.length && socket.writable) socket.write(text[at++] ?? '');
    }, 1000);
    socket.on('close', () => clearInterval(timer));
  };
}

const chunk = `${(65_536).toString(16)}\r\n${' '.repeat(65_536)}\r\n`;
function endless(socket: Socket, signal: AbortSignal): void {
  socket.write(head('chunked'));
  const pour = () => {
    // A turn of the loop in between, or this process would do nothing else.
    if (!signal.aborted && socket.writable && socket.write(chunk)) setImmediate(pour);
  };
  socket.on('drain', pour);
  pour();
}

const manyDeletes = `DELETE ${unknownHashes} HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(20);
function pipelined(socket: Socket): void {
  const send = () => {
    if (socket.writable && socket.writableLength === 0) socket.write(manyDeletes);
  };
  send();
  const timer = setInterval(send, 1000);
  socket.on('close', () => clearInterval(timer));
}

function idle(): void {}

function count(answers: Answers, answer: string): void {
  answers[answer] = (answers[answer] ?? 0) + 1;
}

function every(ms: number, signal: AbortSignal, work: () => void): Promise<void> {
  return new Promise((resolve) => {
    const timer = setInterval(work, ms);
    signal.addEventListener('abort', () => {
      clearInterval(timer);
      resolve();
    });
  });
}
