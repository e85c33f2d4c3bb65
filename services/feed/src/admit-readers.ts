import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { type Refusal, type ReplyHeaders, rateHeaders, unavailable } from '@makerbook/http';
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

/** A reader's part of the budgets of this process. */
interface Spent {
  left: number;
  atMs: number;
  streams: number;
}

/** A place for one more stream or snapshot: entered once it begins. */
export interface Room {
  readonly enter: () => void;
  readonly leave: () => void;
}

/** A reader who may ask. */
export interface Admitted {
  readonly name: string;
  /** Of its budget. */
  readonly headers: ReplyHeaders;
  readonly takeRoom: () => Room | Refusal;
}

export interface ReadersOptions {
  /** The readers as JSON, read anew at each call; empty: anyone may read. */
  readonly readFile: () => string;
  /** Streams of this process. */
  readonly streamsMax: number;
  readonly nowMs: () => number;
  /** The file has changed, and cannot be used: the readers of before stay. */
  readonly onFault: (error: Error) => void;
}

const FILE_AGE_MS_MAX = 1_000;
const anyone: Reader = { name: 'anyone', keys: [], requestsPerSecond: Infinity, burst: 1, streamsMax: Infinity };

export type Readers = ReturnType<typeof admitReaders>;

/**
 * Who may read the book, by the operator's file. A change of it counts within a second.
 * @throws where the file cannot be used at the start
 */
export function admitReaders({ readFile, streamsMax, nowMs, onFault }: ReadersOptions) {
  let text = readFile();
  let readers = parseReaders(text);
  let readAtMs = nowMs();
  let streams = 0;
  const spent = new Map<string, Spent>();

  function renew(): void {
    if (nowMs() - readAtMs < FILE_AGE_MS_MAX) return;
    readAtMs = nowMs();
    const now = readFile();
    if (now === text) return;
    text = now;
    try {
      readers = parseReaders(now);
    } catch (error) {
      onFault(error as Error);
    }
  }

  function takeRoom({ name, streamsMax: ownMax }: Reader, own: Spent): Room | Refusal {
    if (own.streams >= ownMax) {
      const detail = `${name} has ${own.streams} streams and snapshots here: end one first`;
      return { code: 'rate_limited', detail, headers: { 'Retry-After': '1' } };
    }
    if (streams >= streamsMax) return unavailable(`${streams} streams are open here; try again`);
    const count = (change: number) => () => {
      streams += change;
      own.streams += change;
    };
    return { enter: count(1), leave: count(-1) };
  }

  return {
    admit({ authorization }: IncomingHttpHeaders): Admitted | Refusal {
      renew();
      const known = readers === undefined ? anyone : findReader(readers, authorization);
      if (known === undefined) {
        const detail = 'send `Authorization: Bearer` and the key that the operator gave you';
        return { code: 'unauthorized', detail, headers: { 'WWW-Authenticate': 'Bearer' } };
      }
      const own = spent.get(known.name) ?? { left: known.burst, atMs: nowMs(), streams: 0 };
      spent.set(known.name, own);
      const budget = { ratePerSecond: known.requestsPerSecond, burst: known.burst };
      const headersOf = (retryMs?: number) =>
        known === anyone ? {} : rateHeaders('book', [{ maker: known.name, budget }], [Math.floor(own.left)], retryMs);
      const filled = known === anyone ? known.burst : own.left + ((nowMs() - own.atMs) / 1000) * budget.ratePerSecond;
      own.left = Math.min(known.burst, filled);
      own.atMs = nowMs();
      if (own.left < 1) {
        const detail = `${known.name} has spent its budget of ${known.requestsPerSecond} requests a second`;
        return { code: 'rate_limited', detail, headers: headersOf(((1 - own.left) / budget.ratePerSecond) * 1000) };
      }
      own.left -= 1;
      return { name: known.name, headers: headersOf(), takeRoom: () => takeRoom(known, own) };
    },
    /** The open streams and snapshots, by reader. */
    streams: (): readonly (readonly [reader: string, streams: number])[] =>
      [...spent].map(([name, own]) => [name, own.streams]),
  };
}

/** @returns undefined where anyone may read. @throws where it is no list of readers */
function parseReaders(text: string): readonly Reader[] | undefined {
  if (text === '') return undefined;
  const parsed = readersFile.safeParse(JSON.parse(text));
  if (!parsed.success) throw new Error(`BOOK_READERS: ${z.prettifyError(parsed.error)}`);
  return parsed.data.map((one) => ({ ...one, keys: one.keys.map((key) => Buffer.from(key, 'hex')) }));
}

function findReader(readers: readonly Reader[], authorization = ''): Reader | undefined {
  const [, key] = /^Bearer +(\S+)$/i.exec(authorization) ?? [];
  if (key === undefined) return undefined;
  const digest = createHash('sha256').update(key).digest();
  return readers.find(({ keys }) => keys.some((known) => timingSafeEqual(known, digest)));
}
