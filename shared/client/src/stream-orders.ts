import { streamLimitOrdersRequestTypes } from '@makerbook/contracts-evm/typed-data';
import type { StreamEvent } from '@makerbook/contracts-http';
import { paths } from '@makerbook/contracts-http/paths';
import { pause, WrongValue } from '@makerbook/contracts-primitives';
import { type CallOptions, openCall } from './call-service.js';
import { MakerbookError } from './errors.js';
import type { ServiceClock } from './follow-clock.js';
import { signQuery } from './read-orders.js';
import type { RequestSigner } from './sign-requests.js';

/** An event of the stream. `id` names a snapshot or a change: the stream can continue after it. */
export type OrderEvent = Exclude<StreamEvent, { readonly event: 'end' }> & { readonly id?: string };

export interface StreamOptions {
  /** The `id` of the last event that was handled. Without it the stream begins with a snapshot. */
  readonly lastEventId?: string;
  /** Ends the stream. */
  readonly signal?: AbortSignal;
}

interface StreamParts {
  readonly signing: Pick<RequestSigner, 'signRead'>;
  readonly calling: CallOptions;
  /** The maker, if another address signs. */
  readonly named: { readonly maker?: string };
  readonly clock: ServiceClock;
  readonly randomSalt: () => Uint8Array;
}

/** The service sends a `clock` event every second. */
const SILENCE_MS_MAX = 10_000;
const RECONNECT_MS = 500;

/**
 * Follows the maker's orders, and reconnects by itself. No change is left out, and none comes twice. A snapshot comes
 * first, and again if the service no longer keeps the changes since the last event.
 */
export function createStream({ calling, named, ...parts }: StreamParts) {
  function open(lastId: string | undefined, signal: AbortSignal): Promise<Response> {
    const headers = lastId === undefined ? {} : { 'Last-Event-ID': lastId };
    return parts.clock.signed(async () => {
      const query = new URLSearchParams({ ...(await signQuery(parts, streamLimitOrdersRequestTypes)), ...named });
      return openCall({ method: 'GET', path: paths.stream, query, headers }, calling, signal);
    });
  }

  return async function* streamOrders({ lastEventId, signal }: StreamOptions = {}): AsyncGenerator<OrderEvent> {
    let lastId = lastEventId === undefined ? undefined : readEventId(lastEventId);
    const isOver = () => signal?.aborted === true;
    while (!isOver()) {
      const connection = new AbortController();
      const stop = () => connection.abort();
      signal?.addEventListener('abort', stop, { once: true });
      let pauseMs = RECONNECT_MS;
      try {
        const late = setTimeout(stop, calling.timeoutMs);
        const response = await open(lastId, connection.signal).finally(() => clearTimeout(late));
        for await (const event of readEvents(response, connection)) {
          if (event.event === 'end') {
            if (event.reason === 'gone') lastId = undefined;
            break;
          }
          lastId = event.id ?? lastId;
          yield event;
        }
      } catch (error) {
        const isGone = error instanceof MakerbookError && error.code === 'gone' && lastId !== undefined;
        if (!(error instanceof MakerbookError && (error.retryable || isGone))) throw error;
        if (isGone) lastId = undefined;
        pauseMs = Math.max(RECONNECT_MS, 1000 * (error.retryAfterSeconds ?? 0));
      } finally {
        signal?.removeEventListener('abort', stop);
        connection.abort();
      }
      await pause(pauseMs, signal);
    }
  };
}

/** Refuses an id that a header cannot hold. @throws WrongValue */
function readEventId(id: string): string {
  if (typeof id === 'string' && /^[!-~]+$/.test(id)) return id;
  throw new WrongValue('lastEventId', 'must be the id of an event; leave it out to begin with a snapshot');
}

/** Yields the events of an answer until it ends or is silent for too long. */
async function* readEvents(
  response: Response,
  connection: AbortController,
): AsyncGenerator<StreamEvent & { id?: string }> {
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  let text = '';
  while (reader !== undefined) {
    const silence = setTimeout(() => connection.abort(), SILENCE_MS_MAX);
    // A broken connection ends like any other: the next one continues from here.
    const { done, value } = await reader
      .read()
      .catch(() => ({ done: true, value: undefined }))
      .finally(() => clearTimeout(silence));
    if (done) return;
    text += decoder.decode(value, { stream: true });
    const blocks = text.split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) {
      const [, id, event, data] = /^(?:id: (.*)\n)?event: (.*)\ndata: (.*)$/.exec(block) ?? [];
      // A comment has no data. It only shows that the service is up.
      if (data !== undefined) yield { ...JSON.parse(data), event, ...(id !== undefined && { id }) };
    }
  }
}
