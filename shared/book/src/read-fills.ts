import type { Hex } from '@makerbook/contracts-primitives';
import { askerOf, followStream, type HttpFeedOptions, readJson, readLines } from './read-over-http.js';

/** A fill of an order, as the contract reports it. See "Fills" in the routers' guide. */
export interface BookFill {
  readonly orderHash: Hex;
  readonly maker: Hex;
  readonly taker: Hex;
  /** The tokens and amounts that the maker sold and got. A token is missing if the service does not know it. */
  readonly makingToken?: Hex;
  readonly makingAmount: Hex;
  readonly takingToken?: Hex;
  readonly takingAmount: Hex;
  /** The taking amount per making amount, in lowest terms and decimal digits. */
  readonly price: { readonly numerator: string; readonly denominator: string };
  readonly remainingMakingAmount?: Hex;
  readonly blockNumber: number;
  /** Unix seconds. */
  readonly blockTimestamp?: number;
  readonly transactionHash: Hex;
  /** Identifies the fill together with the block. */
  readonly logIndex: number;
}

/** Which fills to read. All conditions must hold. */
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
 * Yields the fills that the service keeps, newest first. Reads them page by page as you take them. Waits while the
 * service cannot answer.
 * @throws WrongValue for an invalid URL or key, Error if the service refuses, AbortError
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
 * Yields the newest fills, oldest first, and then each new one once, without end.
 * @param newest how many fills to begin with, at most 1,000. Defaults to 100
 * @throws FeedLost if the stream cannot be resumed. Then read `readFills` back to the last fill that you have, and
 * follow again. Otherwise throws like `readFills`
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
      // Retry a page that was cut.
      if (page !== undefined) return page;
    }
  };
}

const never = () => new AbortController().signal;
