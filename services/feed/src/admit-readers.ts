import { createHash, timingSafeEqual } from 'node:crypto';
import type { MonotonicMs } from '@makerbook/contracts-primitives';
import { heldOf, isSpent, retryAfterMsOf, spend, type Tokens } from '@makerbook/domain';
import { type ApiRequest, type Refusal, type ReplyHeaders, rateHeaders, unavailable } from '@makerbook/http';
import { z } from 'zod';

const reader = z.strictObject({
  name: z.string().regex(/^[a-z0-9-]{1,40}$/),
  /** SHA-256 of each key, in hex: a new one beside an old one while keys change. */
  keys: z
    .array(z.string().regex(/^[0-9a-f]{64}$/))
    .min(1)
    .max(10),
  requestsPerSecond: z.number().positive(),
  burst: z.int().positive(),
  /** At one process; a snapshot under way counts as one. */
  streamsMax: z.int().nonnegative(),
});
const readersFile = z
  .array(reader)
  .max(1_000)
  .refine((all) => new Set(all.map(({ name }) => name)).size === all.length, { error: 'two readers have one name' });

type Reader = Omit<z.infer<typeof reader>, 'keys'> & { readonly keys: readonly Buffer[] };

/** What a reader has spent at this process. */
interface Spent {
  tokens: Tokens;
  streams: number;
}

/** A place for one more stream or snapshot: entered once it begins. */
export interface Room {
  /** @param end ends it, once the key by which its reader was known is removed */
  readonly enter: (end: () => void) => void;
  readonly leave: () => void;
}

/** A reader who may ask. */
export interface Admitted {
  readonly name: string;
  /** The name; where anyone may read, the client's address. */
  readonly client: string;
  /** Tells what is left of its budget now. */
  readonly headers: () => ReplyHeaders;
  /** Takes so many more requests off it, also beyond its end: the next one waits for longer. */
  readonly charge: (requests: number) => void;
  readonly takeRoom: () => Room | Refusal;
}

export interface ReadersOptions {
  /** The readers as JSON, read anew at each call; empty: anyone may read. Throws where they cannot be read. */
  readonly readFile: () => string;
  /** Streams of this process. */
  readonly streamsMax: number;
  readonly monotonicMs: () => MonotonicMs;
  /** The file cannot be read any more, or has changed and cannot be used: the readers of before stay. */
  readonly onFault: (error: Error) => void;
}

/** How often the file is to be read again. */
export const FILE_AGE_MS_MAX = 1_000;
const anyone: Reader = { name: 'anyone', keys: [], requestsPerSecond: Infinity, burst: 1, streamsMax: Infinity };

export type Readers = ReturnType<typeof admitReaders>;

/**
 * Who may read the book, by the operator's file. A change of it counts for the next request a second later, and for
 * open streams with the next `renew`.
 * @throws where the file cannot be used at the start
 */
export function admitReaders({ readFile, streamsMax, monotonicMs, onFault }: ReadersOptions) {
  let text = readFile();
  let readers = parseReaders(text);
  let readAtMs = monotonicMs();
  /** Why the file could not be read last. */
  let fault = '';
  /** What ends each stream and snapshot, and the digest of its reader's key; undefined where anyone might read. */
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

/** @returns undefined where anyone may read. @throws where it is no list of readers */
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
    throw new Error('BOOK_READERS is no JSON');
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
