import type { Hex } from '@makerbook/contracts-primitives';
import { askerOf, followStream, type HttpFeedOptions, readJson, readLines } from './read-over-http.js';

/** A fill of an order, as the contract says it: see "Fills" in the routers' guide. */
export interface BookFill {
  readonly orderHash: Hex;
  readonly maker: Hex;
  readonly taker: Hex;
  /** What the maker sold, and what it got. A token is missing where the service does not know it. */
  readonly makingToken?: Hex;
  readonly makingAmount: Hex;
  readonly takingToken?: Hex;
  readonly takingAmount: Hex;
  /** What was paid for what was sold, in lowest terms: decimal digits. */
  readonly price: { readonly numerator: string; readonly denominator: string };
  readonly remainingMakingAmount?: Hex;
  readonly blockNumber: number;
  /** Unix seconds. */
  readonly blockTimestamp?: number;
  readonly transactionHash: Hex;
  /** With the block it names the fill. */
  readonly logIndex: number;
}

/** Which fills are read: all of these must fit. */
export interface WantedFills {
  readonly making?: string;
  readonly taking?: string;
  readonly maker?: string;
}

export interface ReadFillsOptions extends HttpFeedOptions {
  /** Ends the reading. */
  readonly signal?: AbortSignal;
}

interface Page {
  readonly fills: readonly BookFill[];
  readonly nextCursor: string | null;
  readonly streamCursor: string;
}

const PAGE_MAX = 1_000;

/**
 * The fills that the service keeps, newest first, page by page as they are taken. It waits while the service cannot
 * answer.
 * @throws WrongValue for a URL or a key that cannot be meant, Error where the service refuses, AbortError
 */
export async function* readFills(options: ReadFillsOptions, wanted: WantedFills = {}): AsyncGenerator<BookFill, void> {
  const readPage = pageReaderOf(options);
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page: Page = await readPage({ ...wanted, ...(cursor !== undefined && { cursor }) });
    yield* page.fills;
    cursor = page.nextCursor;
  }
}

/**
 * The newest fills, oldest first, and then each new one, once, without end.
 * @param newest begins with so many at most, 100 if not given; at most 1,000
 * @throws FeedLost where the stream cannot be resumed: read `readFills` back to the last fill that you have, and follow
 * anew. Else as `readFills`
 */
export async function* followFills(options: ReadFillsOptions, newest = 100): AsyncGenerator<BookFill, void> {
  const { signal = never() } = options;
  const { fills, streamCursor } = await pageReaderOf(options)({ limit: `${Math.max(1, newest)}` });
  yield* fills.slice(0, newest).toReversed();
  const ask = askerOf(options);
  const open = async (path: string) => readLines(await ask(path, signal));
  for await (const { data } of followStream('fills/stream', streamCursor, open, signal)) yield JSON.parse(data);
}

function pageReaderOf(options: ReadFillsOptions) {
  const ask = askerOf(options);
  const { signal = never() } = options;
  return async (query: Readonly<Record<string, string>>): Promise<Page> => {
    for (;;) {
      const begun = await ask(`fills?${new URLSearchParams({ limit: `${PAGE_MAX}`, ...query })}`, signal);
      const page = (await readJson(begun)) as Page | undefined;
      signal.throwIfAborted();
      // One that was cut is asked for again.
      if (page !== undefined) return page;
    }
  };
}

const never = () => new AbortController().signal;
