import { pause, readBearerKey, readServiceUrl } from '@makerbook/contracts-primitives';
import type { FeedReader } from './follow-book.js';
import { parseLine } from './read-recording.js';

/** The service writes something at least every 5 s. A longer silence means that the connection is dead. */
const SILENCE_MS_MAX = 15_000;
const RETRY_MS = 1_000;
/** How the last line of a snapshot begins. No record begins like that. */
const END = '{"cursor":';

export interface HttpFeedOptions {
  /** The service's URL, as `https://host`. */
  readonly baseUrl: string;
  /** The reader's key, if the operator admits only named readers. */
  readonly key?: string;
  readonly fetch?: typeof fetch;
}

/** The feed cannot be resumed. Drop the book and follow it again. */
export class FeedLost extends Error {
  override readonly name = 'FeedLost';
}

/**
 * Reads the feed over HTTP instead of Kafka, also in a browser. It reads a snapshot and then the stream, which it
 * resumes when it ends. It waits while the service cannot answer. `onFatal` gets a FeedLost if the snapshot is cut or
 * the stream cannot be resumed, and an Error if the service refuses the reader.
 * @throws WrongValue for an invalid URL or key; no error shows the key
 */
export function readOverHttp(options: HttpFeedOptions): FeedReader {
  const ask = askerOf(options);
  return {
    followTopic({ onRecords, onFatal }) {
      const stopping = new AbortController();
      const caughtUp = Promise.withResolvers<void>();
      let cursor = '';
      let lastPollAtMs = Number.NEGATIVE_INFINITY;
      const heard = () => {
        lastPollAtMs = performance.now();
      };
      const open = async (path: string) => readLines(await ask(path, stopping.signal), heard);

      function hand(line: string): void {
        const record = parseLine(line);
        onRecords(record.partition, [record]);
      }

      async function readSnapshot(): Promise<void> {
        for await (const line of await open('snapshot')) {
          if (line.startsWith(END)) cursor = JSON.parse(line).cursor;
          else hand(line);
        }
        if (cursor === '') throw new FeedLost('the snapshot was cut before its end');
      }

      async function run(): Promise<void> {
        await readSnapshot();
        caughtUp.resolve();
        for await (const { id, data } of followStream('stream', cursor, open, stopping.signal)) {
          hand(data);
          cursor = id;
        }
      }

      const reading = run().catch((error: Error) => {
        if (!stopping.signal.aborted) onFatal(error);
      });
      return {
        caughtUp: caughtUp.promise,
        positions: () =>
          cursor === '' ? [] : cursor.split(',').map((item) => BigInt(item.split(':')[0]?.replace('-', '0') ?? 0)),
        lastPollAtMs: () => lastPollAtMs,
        stop: async () => {
          stopping.abort();
          await reading;
        },
      };
    },
  };
}

/** A response that has begun. `cut` ends its connection. */
export interface Begun {
  readonly answer: Response;
  readonly cut: () => void;
}

/** An event of a stream. `id` is the cursor behind it. */
interface StreamEvent {
  readonly id: string;
  readonly data: string;
}

/**
 * Returns a function that requests a path below …/book, and resolves as soon as the service begins a response.
 * @throws WrongValue for an invalid URL or key. The function throws FeedLost for 410, and Error if the service refuses
 */
export function askerOf({ baseUrl: url, key, fetch = globalThis.fetch }: HttpFeedOptions) {
  const baseUrl = readServiceUrl('baseUrl', url);
  const headers = key === undefined ? undefined : { Authorization: `Bearer ${readBearerKey('key', key)}` };
  return async (path: string, stopping: AbortSignal): Promise<Begun> => {
    for (;;) {
      const connection = new AbortController();
      const cut = () => connection.abort();
      const signal = AbortSignal.any([stopping, connection.signal]);
      const silence = setTimeout(cut, SILENCE_MS_MAX);
      const asked = fetch(`${baseUrl}/v0alpha/book/${path}`, { signal, ...(headers && { headers }) });
      const answer = await asked.catch(() => undefined).finally(() => clearTimeout(silence));
      stopping.throwIfAborted();
      if (answer?.ok) return { answer, cut };
      if (answer !== undefined && answer.status !== 429 && answer.status < 500) throw await errorOf(answer);
      await pause(1_000 * Number(answer?.headers.get('retry-after') ?? 0) || RETRY_MS, stopping);
    }
  };
}

/** Yields the events behind a cursor, without end. Resumes the stream when it ends. */
export async function* followStream(
  path: string,
  from: string,
  open: (path: string) => Promise<AsyncIterable<string>>,
  stopping: AbortSignal,
): AsyncGenerator<StreamEvent, never> {
  let cursor = from;
  for (;;) {
    const before = cursor;
    for await (const event of readEvents(await open(`${path}?after=${cursor}`))) {
      yield event;
      cursor = event.id;
    }
    // Do not flood a service that ends each stream at once.
    if (cursor === before) await pause(RETRY_MS * Math.random(), stopping);
  }
}

async function* readEvents(lines: AsyncIterable<string>): AsyncGenerator<StreamEvent, void> {
  let [id, data, event] = ['', '', ''];
  for await (const line of lines) {
    if (line.startsWith('id: ')) id = line.slice(4);
    else if (line.startsWith('event: ')) event = line.slice(7);
    else if (line.startsWith('data: ')) data = line.slice(6);
    else if (line === '' && event !== '') {
      if (event === 'end') return;
      yield { id, data };
      event = '';
    }
  }
}

/** Yields the whole lines of a body, until it ends, is cut or falls silent. */
export async function* readLines({ answer, cut }: Begun, heard: () => void = () => undefined): AsyncGenerator<string> {
  if (answer.body === null) return;
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  try {
    for (;;) {
      const silence = setTimeout(cut, SILENCE_MS_MAX);
      const { done, value = '' } = await reader.read().catch(() => ({ done: true, value: '' }));
      clearTimeout(silence);
      if (done) return;
      heard();
      const lines = (rest + value).split('\n');
      rest = lines.pop() ?? '';
      yield* lines;
    }
  } finally {
    cut();
  }
}

/** The whole body as JSON; undefined if it is cut or takes too long. */
export async function readJson({ answer, cut }: Begun): Promise<unknown> {
  const silence = setTimeout(cut, SILENCE_MS_MAX);
  try {
    return await answer.json();
  } catch {
    return undefined;
  } finally {
    clearTimeout(silence);
  }
}

async function errorOf(answer: Response): Promise<Error> {
  const text = await answer.text();
  const message = `the service answers ${answer.status}: ${text}`;
  return answer.status === 410 ? new FeedLost(message) : new Error(message);
}
