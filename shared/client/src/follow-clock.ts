import { MakerbookError } from './errors.js';

/** The clock of the service, as its answers tell it. Requests are signed by it: the local clock may be wrong. */
export interface ServiceClock {
  /** Notes the time that an answer tells. */
  hear(headers: Headers): void;
  /** Milliseconds since 1970. Asks the service if no answer has told the time yet. */
  nowMs(): Promise<number>;
  /**
   * Gives `nowMs`, or the latest time that an answer has told if that is later, up to 50 seconds ahead. Any order that
   * has an answer was accepted by then.
   */
  latestMs(): Promise<number>;
  /**
   * Signs and sends a request. Signs and sends it once more if it was too early or too late, because the refusal has
   * told the time. Does the same if the network had sent it twice.
   */
  signed<T>(send: () => Promise<T>): Promise<T>;
}

/** The service refuses a time that is a minute ahead, and one instance's clock may be wrong by more. */
const AHEAD_MS_MAX = 50_000;
const SIGNED_ANEW: readonly string[] = ['request_expired', 'request_replayed'];

/**
 * @param now the local clock, in milliseconds since 1970
 * @param ask sends a request; the caller passes the answer to `hear`
 */
export function followClock(now: () => number, ask: () => Promise<unknown>): ServiceClock {
  /** How far the service is ahead, by the newest answer. So an instance with a wrong clock has no lasting effect. */
  let aheadMs: number | undefined;
  let greatestMs = 0;
  let asking: Promise<unknown> | undefined;

  async function nowMs(): Promise<number> {
    if (aheadMs === undefined) {
      // If an answer has no time, the next has none either, so ask once. Repeat only a failed call.
      asking ??= ask().catch(() => {
        asking = undefined;
      });
      await asking;
    }
    return Math.round(now() + (aheadMs ?? 0));
  }

  return {
    hear(headers) {
      const serverMs = Number(headers.get('x-server-time') ?? Number.NaN);
      if (!(serverMs > 0)) return;
      aheadMs = serverMs - now();
      greatestMs = Math.max(greatestMs, serverMs);
    },
    nowMs,
    async latestMs() {
      const ms = await nowMs();
      return Math.max(ms, Math.min(greatestMs, ms + AHEAD_MS_MAX));
    },
    async signed(send) {
      try {
        return await send();
      } catch (error) {
        if (!(error instanceof MakerbookError && SIGNED_ANEW.includes(error.code))) throw error;
        return send();
      }
    },
  };
}
