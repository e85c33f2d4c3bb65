import { connect, type Socket } from 'node:net';

/** An answer as it came over the wire. */
export interface RawAnswer {
  readonly status: number;
  /** Keyed by lowercase name. Fields of one name are joined by a comma. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
}

/** The result of sending some bytes. */
export interface Exchange {
  /** Whole answers, in their order. */
  readonly answers: readonly RawAnswer[];
  /** Further bytes that are no whole answer. */
  readonly rest: Buffer;
  /** How it ended: with all wanted answers, closed by the other side, or not within the time. */
  readonly end: 'answered' | 'closed' | 'timeout';
}

/** A connection that sends any bytes, well-formed or not, and reads answers of HTTP/1.1. */
export interface RawConnection {
  readonly socket: Socket;
  /** Waits for this many more answers, the connection's end, or the timeout. */
  read(wanted: { readonly answers: number; readonly timeoutMs: number; readonly isHead?: boolean }): Promise<Exchange>;
  close(): void;
}

/** @throws Error if the connection is refused */
export function openRaw(host: string, port: number): Promise<RawConnection> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, noDelay: true });
    let received: Buffer = Buffer.alloc(0);
    let isClosed = false;
    let wake = () => {};
    socket.once('connect', () => resolve(connection));
    socket.once('error', reject);
    // A server that has read enough may reset the connection after its answer.
    socket.on('error', () => undefined);
    socket.on('data', (data: Buffer) => {
      received = received.length === 0 ? data : Buffer.concat([received, data]);
      wake();
    });
    socket.on('close', () => {
      isClosed = true;
      wake();
    });
    const connection: RawConnection = {
      socket,
      async read({ answers: wanted, timeoutMs, isHead = false }) {
        const answers: RawAnswer[] = [];
        let isLate = false;
        const timer = setTimeout(() => {
          isLate = true;
          wake();
        }, timeoutMs);
        try {
          for (;;) {
            const parsed = answers.length < wanted ? parseAnswer(received, isHead) : undefined;
            if (parsed !== undefined) {
              answers.push(parsed.answer);
              received = parsed.rest;
              continue;
            }
            if (answers.length >= wanted || isClosed || isLate || isStream(answers.at(-1))) break;
            await new Promise<void>((resolve) => {
              wake = resolve;
            });
          }
        } finally {
          clearTimeout(timer);
        }
        const isAnswered = answers.length >= wanted || isStream(answers.at(-1));
        const end = isAnswered ? 'answered' : isClosed ? 'closed' : 'timeout';
        return { answers, rest: withoutInterim(received), end };
      },
      close: () => socket.destroy(),
    };
  });
}

/** The bytes of a well-formed request. */
export function requestBytes(
  method: string,
  target: string,
  headers: Readonly<Record<string, string>> = {},
  body?: string | Uint8Array,
): Buffer {
  const content = body === undefined ? undefined : Buffer.from(body as string);
  const length = content === undefined ? {} : { 'Content-Length': String(content.length) };
  const fields = { Host: 'localhost', ...length, ...headers };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = Buffer.from(`${method} ${target} HTTP/1.1\r\n${lines.join('')}\r\n`, 'latin1');
  return content === undefined ? head : Buffer.concat([head, content]);
}

/** Leaves out `100 Continue`. If the connection closes right after a request, nothing else may have come. */
function withoutInterim(bytes: Buffer): Buffer {
  return bytes.subarray(/^(HTTP\/1\.1 1[0-9][0-9] .*\r\n\r\n)*/.exec(bytes.toString('latin1'))?.[0].length ?? 0);
}

/** The first whole answer in the bytes, and what follows it. @throws Error if they are no answer */
function parseAnswer(bytes: Buffer, isHead: boolean): { answer: RawAnswer; rest: Buffer } | undefined {
  const headEnd = bytes.indexOf('\r\n\r\n');
  if (headEnd < 0) return undefined;
  const [statusLine = '', ...lines] = bytes.toString('latin1', 0, headEnd).split('\r\n');
  const status = Number(/^HTTP\/1\.[01] ([1-5][0-9][0-9])( |$)/.exec(statusLine)?.[1]);
  if (Number.isNaN(status)) throw new Error(`this is no answer: ${statusLine.slice(0, 200)}`);
  const headers = new Map<string, string>();
  for (const line of lines) {
    const [, name = '', value = ''] = /^([^:\s]+):[ \t]*(.*)$/.exec(line) ?? [];
    if (name === '') throw new Error(`this is no header field: ${line.slice(0, 200)}`);
    const before = headers.get(name.toLowerCase());
    headers.set(name.toLowerCase(), before === undefined ? value : `${before}, ${value}`);
  }
  const after = bytes.subarray(headEnd + 4);
  if (status < 200) return parseAnswer(after, isHead);
  const hasNone = isHead || status === 204 || status === 304;
  // Skip what has come of a stream.
  if (isStream({ headers }) && !hasNone)
    return { answer: { status, headers, body: Buffer.alloc(0) }, rest: Buffer.alloc(0) };
  const content = hasNone ? { body: Buffer.alloc(0), rest: after } : readContent(after, headers);
  return content === undefined
    ? undefined
    : { answer: { status, headers, body: content.body }, rest: Buffer.from(content.rest) };
}

/** True if the answer has no end. It is then the last answer of its connection. */
export function isStream(answer: Pick<RawAnswer, 'headers'> | undefined): boolean {
  return answer?.headers.get('content-type')?.startsWith('text/event-stream') === true;
}

function readContent(bytes: Buffer, headers: ReadonlyMap<string, string>): { body: Buffer; rest: Buffer } | undefined {
  if (headers.get('transfer-encoding') === 'chunked') return readChunks(bytes);
  const length = headers.get('content-length') ?? '';
  if (!/^[0-9]+$/.test(length)) throw new Error(`an answer of unknown length: Content-Length is "${length}"`);
  const end = Number(length);
  return bytes.length < end ? undefined : { body: bytes.subarray(0, end), rest: bytes.subarray(end) };
}

function readChunks(bytes: Buffer): { body: Buffer; rest: Buffer } | undefined {
  const chunks: Buffer[] = [];
  for (let at = 0; ; ) {
    const lineEnd = bytes.indexOf('\r\n', at);
    if (lineEnd < 0) return undefined;
    const length = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16);
    const end = lineEnd + 2 + length + 2;
    if (bytes.length < end) return undefined;
    if (length === 0) return { body: Buffer.concat(chunks), rest: bytes.subarray(end) };
    chunks.push(bytes.subarray(lineEnd + 2, end - 2));
    at = end;
  }
}
