import { createHash, timingSafeEqual } from 'node:crypto';
import type { MonotonicMs } from '@makerbook/contracts-primitives';
import { heldOf, isSpent, retryAfterMsOf, spend, type Tokens } from '@makerbook/domain';
import { type ApiRequest, type Refusal, type ReplyHeaders, rateHeaders, unavailable } from '@makerbook/http';
import { z } from 'zod';

const reader = z.strictObject({
  name: z.string().regex(/^[a-z0-9-]{1,40}$/),
  /** SHA-256 of each key, in hex. While keys change, a new one is beside an old one. */
  keys: z
    .array(z.string().regex(/^[0-9a-f]{64}$/))
    .min(1)
    .max(10),
  requestsPerSecond: z.number().positive(),
  burst: z.int().positive(),
  /** The limit at one process. A snapshot under way counts as a stream. */
  streamsMax: z.int().nonnegative(),
});
const readersFile = z
  .array(reader)
  .max(1_000)
  .refine((all) => new Set(all.map(({ name }) => name)).size === all.length, { error: 'two readers share a name' });

type Reader = Omit<z.infer<typeof reader>, 'keys'> & { readonly keys: readonly Buffer[] };

/** What a reader has spent and opened at this process. */
interface Spent {
  tokens: Tokens;
  streams: number;
}

/** A place for one more stream or snapshot. Call `enter` once it begins. */
export interface Room {
  /** @param end ends the stream or snapshot, once its reader's key is removed */
  readonly enter: (end: () => void) => void;
  readonly leave: () => void;
}

/** A reader who may read the book. */
export interface Admitted {
  readonly name: string;
  /** The reader's name, or the client's address if anyone may read. */
  readonly client: string;
  /** Tells what is left of the reader's budget now. */
  readonly headers: () => ReplyHeaders;
  /** Takes more requests off the budget, even below zero. The next request then waits longer. */
  readonly charge: (requests: number) => void;
  readonly takeRoom: () => Room | Refusal;
}

export interface ReadersOptions {
  /** Reads the readers as JSON. Empty: anyone may read. Throws if they cannot be read. */
  readonly readFile: () => string;
  /** The most streams of this process. */
  readonly streamsMax: number;
  readonly monotonicMs: () => MonotonicMs;
  /** Called if the file can no longer be read, or its new text cannot be used. The readers stay as they were. */
  readonly onFault: (error: Error) => void;
}

/** How often to read the file again. */
export const FILE_AGE_MS_MAX = 1_000;
const anyone: Reader = { name: 'anyone', keys: [], requestsPerSecond: Infinity, burst: 1, streamsMax: Infinity };

export type Readers = ReturnType<typeof admitReaders>;

/**
 * Tells who may read the book, by the operator's file. A change of the file applies to requests within a second, and to
 * open streams with the next `renew`.
 * @throws if the file cannot be used at the start
 */
export function admitReaders({ readFile, streamsMax, monotonicMs, onFault }: ReadersOptions) {
  let text = readFile();
  let readers = parseReaders(text);
  let readAtMs = monotonicMs();
  /** Why the last read of the file failed. Empty if it did not. */
  let fault = '';
  /** How to end each stream or snapshot, and the digest of its reader's key. Undefined if anyone could read. */
  const open = new Map<() => void, Buffer | undefined>();
  const spent = new Map<string, Spent>();
  const find = (digest: Buffer | undefined) => (readers === undefined ? anyone : findReader(readers, digest));

  function renew(): void {
    if (monotonicMs() - readAtMs < FILE_AGE_MS_MAX) return;
    readAtMs = monotonicMs();
    try {
      const now = readFile();
      fault = '';
      if (now === text) return;
      text = now;
      readers = parseReaders(now);
    } catch (error) {
      const { message } = error as Error;
      if (message !== fault) onFault(error as Error);
      fault = message;
      return;
    }
    for (const [end, digest] of open) if (find(digest) === undefined) end();
  }

  function takeRoom({ name, streamsMax: ownMax }: Reader, own: Spent, digest: Buffer | undefined): Room | Refusal {
    if (own.streams >= ownMax) {
      const detail = `${name} has ${own.streams} streams and snapshots here: end one first`;
      return { code: 'rate_limited', detail, headers: { 'Retry-After': '1' } };
    }
    if (open.size >= streamsMax) return unavailable(`${open.size} streams are open here; try again`);
    let end: () => void = () => undefined;
    return {
      enter(ending) {
        end = ending;
        open.set(end, digest);
        own.streams += 1;
      },
      leave() {
        if (open.delete(end)) own.streams -= 1;
      },
    };
  }

  return {
    renew,
    admit({ headers: { authorization }, client }: Pick<ApiRequest, 'headers' | 'client'>): Admitted | Refusal {
      renew();
      const digest = digestOf(authorization);
      const known = find(digest);
      if (known === undefined) {
        const detail = 'send `Authorization: Bearer` and the key that the operator gave you';
        return { code: 'unauthorized', detail, headers: { 'WWW-Authenticate': 'Bearer' } };
      }
      const { name, requestsPerSecond: ratePerSecond, burst } = known;
      const own = spent.get(name) ?? { tokens: { left: undefined, atMs: 0 }, streams: 0 };
      spent.set(name, own);
      const takeOne = () => takeRoom(known, own, digest);
      if (known === anyone) return { name, client, headers: () => ({}), charge: () => undefined, takeRoom: takeOne };
      const budget = { ratePerSecond, burst };
      const tokens = spend(own.tokens, budget, 1, monotonicMs());
      const headersOf = ({ left = 0 }: Tokens, retryMs?: number) =>
        rateHeaders('book', [{ maker: name, budget }], [heldOf(0, Math.max(0, left))], retryMs);
      if (isSpent(tokens.left)) {
        const detail = `${name} has spent its budget of ${ratePerSecond} requests a second`;
        return { code: 'rate_limited', detail, headers: headersOf(tokens, retryAfterMsOf(tokens.left, budget)) };
      }
      own.tokens = tokens;
      const charge = (requests: number) => {
        own.tokens = spend(own.tokens, budget, requests, monotonicMs());
      };
      return { name, client: name, headers: () => headersOf(own.tokens), charge, takeRoom: takeOne };
    },
    /** The open streams and snapshots, by reader. */
    streams: (): readonly (readonly [reader: string, streams: number])[] =>
      [...spent].map(([name, own]) => [name, own.streams]),
  };
}

/** @returns undefined if anyone may read. @throws if the text is no list of readers */
function parseReaders(text: string): readonly Reader[] | undefined {
  if (text === '') return undefined;
  const parsed = readersFile.safeParse(parseJson(text));
  if (!parsed.success) throw new Error(`BOOK_READERS: ${z.prettifyError(parsed.error)}`);
  return parsed.data.map((one) => ({ ...one, keys: one.keys.map((key) => Buffer.from(key, 'hex')) }));
}

/** The error of `JSON.parse` would show a part of the text. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error('BOOK_READERS is not JSON');
  }
}

function digestOf(authorization = ''): Buffer | undefined {
  const [, key] = /^Bearer +(\S+)$/i.exec(authorization) ?? [];
  return key === undefined ? undefined : createHash('sha256').update(key).digest();
}

function findReader(readers: readonly Reader[], digest: Buffer | undefined): Reader | undefined {
  if (digest === undefined) return undefined;
  return readers.find(({ keys }) => keys.some((known) => timingSafeEqual(known, digest)));
}
