import { Agent, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { hexToBytes, type SigningDomain } from '@makerbook/contracts-evm';
import { paths } from '@makerbook/contracts-http';
import type { Address, Hex } from '@makerbook/contracts-primitives';
import { CURSORS } from '../fuzz/odd-values.js';
import { createRequestSigner } from '../kit/sign-orders.js';

/** The target of an attack, and what the attack may use. */
export interface Target {
  readonly host: string;
  readonly port: number;
  /** A POST of 100 signed orders. The last has the signature of another order. */
  readonly batch: string;
  /** A maker on the whitelist. */
  readonly maker: { readonly key: Hex; readonly address: Address };
  readonly domain: SigningDomain;
  readonly burners: Burners;
}

/** Contracts that are expensive to read. */
export interface Burners {
  readonly rpcUrl: string;
  /** Transactions that make logs of a wallet with many orders, and of many tokens with one order each. */
  readonly wallet: readonly object[];
  readonly tokens: readonly object[];
  /** A POST of 100 orders of a wallet that refuses their signatures. */
  readonly refused: { readonly path: string; readonly body: string };
  /** A POST of 100 orders that are open. */
  readonly known: { readonly path: string; readonly body: string };
}

/** How often each answer came: a status, or what became of the connection. */
export type Answers = Record<string, number>;

interface Attack {
  /** The attack in words, for the table. */
  readonly does: string;
  /** Attacks until the signal is aborted. */
  readonly run: (target: Target, answers: Answers, signal: AbortSignal) => Promise<void>;
}

/** Every service takes these for separate clients. None of them is the prober's 127.0.0.1. */
const ADDRESSES = Array.from({ length: 8 }, (_, n) => `127.0.0.${n + 2}`);
const CONNECTIONS = 64;

const json = { 'Content-Type': 'application/json' };
const head = `POST ${paths.limitOrders} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`;
const repeat = <T>(count: number, make: (n: number) => T) => Array.from({ length: count }, (_, n) => make(n));
const members = (count: number) => Object.fromEntries(repeat(count, (n) => [`key${n}`, 1]));
const hashes = repeat(100, (n) => `0x${(n + 1).toString(16).padStart(64, '0')}`).join(',');
const signatures = repeat(100, () => `0x${'11'.repeat(64)}1b`).join(',');
const unknownHashes = `${paths.limitOrders}?orderHashes=${hashes}&signatures=${signatures}`;

const part = (text: string) => text.repeat(8_000 / text.length);
/** Headers, each as large as the service accepts. */
const dearHeaders = {
  'Accept-Encoding': part('a,'),
  'If-None-Match': part('"a",'),
  'X-Forwarded-For': part('1.1.1.1,'),
  baggage: part('%20=%ff,'),
  tracestate: part('a=b,'),
  Cookie: part('a=b;'),
  Accept: part('a/b,'),
};
const hopByHop = {
  Trailer: 'X-A',
  'Transfer-Encoding': 'chunked',
  TE: 'trailers',
  'Keep-Alive': 'timeout=0',
  Upgrade: 'h2c',
  'Proxy-Connection': 'close',
  Connection: 'keep-alive, X-Forwarded-For, Content-Type',
};

/** Attacks, keyed by name. */
export const attacks: Readonly<Record<string, Attack>> = {
  'deep JSON': { does: '50 POSTs a second of 250,000 "["', run: requests(50, { body: '['.repeat(250_000) }) },
  'wide JSON': {
    does: '50 POSTs a second of 100 items with 200 unknown keys each, 250 kB',
    run: requests(50, { body: JSON.stringify(repeat(100, () => members(200))) }),
  },
  'endless bodies': {
    does: '10 connections that send bodies without end, opened again when closed',
    run: endlessBodies(10),
  },
  'batches refused': {
    does: '50 POSTs a second of 100 orders, the last signature wrong',
    run: (target, answers, signal) => requests(50, { body: target.batch })(target, answers, signal),
  },
  'large headers': {
    does: '80 HEADs a second of /openapi.json, each with 56 kB of headers that are dear to read',
    run: requests(80, { method: 'HEAD', path: paths.openApi, headers: dearHeaders }),
  },
  'headers refused': {
    does: '80 HEADs a second of /openapi.json with 60 kB of Accept-Encoding',
    run: requests(80, { method: 'HEAD', path: paths.openApi, headers: { 'Accept-Encoding': 'a,'.repeat(30_000) } }),
  },
  'fields of one connection': {
    does: '50 POSTs a second with Trailer, TE, Keep-Alive, Upgrade and a Connection that names others',
    run: requests(50, { body: '[]', headers: hopByHop }),
  },
  'other Hosts': {
    does: '50 GETs a second by the name of another host, each on a connection of its own',
    run: requests(50, { method: 'GET', path: paths.info, headers: { Host: 'evil.example' } }),
  },
  'odd paths': {
    does: '50 GETs a second of a path in percent code, with dots',
    run: requests(50, { method: 'GET', path: '/console/orders%2f0x1%3f/..%2f..%2fv0alpha%2fbook%2fx' }),
  },
  cursors: {
    does: '50 GETs a second of lists, histories, streams and the book, each with another cursor',
    run: requests(50, withCursor),
  },
  'known orders': {
    does: '50 POSTs a second of 100 orders of another maker that are open',
    run: (target, answers, signal) => requests(50, target.burners.known)(target, answers, signal),
  },
  'wallets asked': {
    does: '50 POSTs a second of 100 orders whose contract wallet burns gas and refuses',
    run: (target, answers, signal) => requests(50, target.burners.refused)(target, answers, signal),
  },
  'wallets that burn gas': {
    does: 'a log each second of a contract wallet with 300 orders, each asked again with 190,000 gas',
    run: ({ burners }, answers, signal) => transactions(burners, burners.wallet, answers, signal),
  },
  'tokens that burn gas': {
    does: 'a transfer each second of each of 40 tokens that burn what they are given',
    run: ({ burners }, answers, signal) => transactions(burners, burners.tokens, answers, signal),
  },
  'idle connections': { does: '200 connections on which nothing is sent, opened again when closed', run: idle(200) },
  'unknown hashes': {
    does: '50 DELETEs a second of 100 unknown hashes',
    run: requests(50, { method: 'DELETE', path: unknownHashes }),
  },
};

interface Asked {
  readonly headers?: Readonly<Record<string, string>>;
  readonly method?: string;
  readonly path?: string;
  readonly body?: string;
}

/** The n-th request with a cursor. All are signed except those of the book. */
function withCursor(n: number, { domain, maker }: Target): Asked {
  const cursor = encodeURIComponent(CURSORS[(n >> 2) % CURSORS.length] ?? '');
  if (n % 4 === 0) return { method: 'GET', path: `${paths.bookStream}?after=${cursor}` };
  const sign = createRequestSigner(domain);
  const read = [sign.signList, sign.signHistory, sign.signStream][(n % 4) - 1] ?? sign.signList;
  const { method, path } = read({ key: hexToBytes(maker.key), address: maker.address });
  return { method, path: `${path}&cursor=${cursor}` };
}

/** Sends these transactions each second. */
async function transactions(
  { rpcUrl }: Burners,
  sent: readonly object[],
  answers: Answers,
  signal: AbortSignal,
): Promise<void> {
  const body = JSON.stringify(
    sent.map((each, id) => ({ jsonrpc: '2.0', id, method: 'eth_sendTransaction', params: [each] })),
  );
  await every(1_000, signal, () => {
    fetch(rpcUrl, { method: 'POST', headers: json, body }).then(
      async (answer) => {
        for (const { error } of (await answer.json()) as { error?: { message: string } }[])
          count(answers, error?.message ?? 'sent');
      },
      () => count(answers, 'the chain does not answer'),
    );
  });
}

/** Sends this many requests a second without waiting for answers, over kept connections, from all addresses in turn. */
function requests(perSecond: number, asked: Asked | ((n: number, target: Target) => Asked)) {
  return async (target: Target, answers: Answers, signal: AbortSignal): Promise<void> => {
    const agents = ADDRESSES.map(
      (localAddress) => new Agent({ keepAlive: true, maxSockets: CONNECTIONS, localAddress }),
    );
    let sent = 0;
    const startedAt = performance.now();
    await every(10, signal, () => {
      for (; sent < ((performance.now() - startedAt) / 1000) * perSecond; sent += 1) {
        const each = typeof asked === 'function' ? asked(sent, target) : asked;
        const { method = 'POST', path = paths.limitOrders, body, headers: own = {} } = each;
        const agent = agents[sent % agents.length] ?? false;
        const length = 'Transfer-Encoding' in own ? {} : { 'Content-Length': Buffer.byteLength(body ?? '') };
        const ofBody = body === undefined ? {} : { ...json, ...length };
        const headers = { ...ofBody, ...own };
        const { host, port } = target;
        const outgoing = request({ agent, host, port, method, path, headers }, (response) => {
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

/** Keeps this many connections open, each with an endless body. Reopens a closed connection a moment later. */
function endlessBodies(total: number): Attack['run'] {
  return async ({ host, port }, answers, signal) => {
    const open = new Set<Socket>();
    let next = 0;
    await every(20, signal, () => {
      while (open.size < total) {
        const socket = connect({ host, port, localAddress: ADDRESSES[next++ % ADDRESSES.length] ?? '127.0.0.2' });
        open.add(socket);
        socket.on('data', (data) => count(answers, /^HTTP\/1.1 (\d+)/.exec(data.toString())?.[1] ?? 'an answer'));
        socket.on('error', (error: NodeJS.ErrnoException) => count(answers, error.code ?? error.message));
        socket.on('close', () => open.delete(socket));
        socket.on('connect', () => endless(socket, signal));
      }
    });
    for (const socket of open) socket.destroy();
  };
}

/** Keeps this many connections open and sends nothing on them. */
function idle(total: number): Attack['run'] {
  return async ({ host, port }, answers, signal) => {
    const open = new Set<Socket>();
    let next = 0;
    await every(20, signal, () => {
      while (open.size < total) {
        const socket = connect({ host, port, localAddress: ADDRESSES[next++ % ADDRESSES.length] ?? '127.0.0.2' });
        open.add(socket);
        socket.on('data', (data) => count(answers, /^HTTP\/1.1 (\d+)/.exec(data.toString())?.[1] ?? 'an answer'));
        socket.on('error', (error: NodeJS.ErrnoException) => count(answers, error.code ?? error.message));
        socket.on('close', () => {
          open.delete(socket);
          count(answers, 'closed');
        });
      }
    });
    for (const socket of open) socket.destroy();
  };
}

const chunk = `${(65_536).toString(16)}\r\n${' '.repeat(65_536)}\r\n`;
function endless(socket: Socket, signal: AbortSignal): void {
  socket.write(head);
  const pour = () => {
    // Give the event loop a turn in between, or this process would do nothing else.
    if (!signal.aborted && socket.writable && socket.write(chunk)) setImmediate(pour);
  };
  socket.on('drain', pour);
  pour();
}

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
