import { MakerbookError } from './errors.js';

/** The clock of the service, as its answers tell it. Requests are signed by it: the clock here may be wrong. */
export interface ServiceClock {
  /** Notes what an answer tells. */
  hear(headers: Headers): void;
  /** Milliseconds since 1970; asks the service where no answer has told yet. */
  nowMs(): Promise<number>;
  /**
   * Gives `nowMs`, or the greatest time that an answer has told if that is later, up to 50 seconds ahead. So an order
   * that was answered was accepted by then.
   */
  latestMs(): Promise<number>;
  /**
   * Signs and sends a request. Signs and sends it once more where it was too early or too late, for the refusal has
   * told the time, or where the network had sent it twice.
   */
  signed<T>(send: () => Promise<T>): Promise<T>;
}

/** The service refuses a time that is a minute ahead, and one instance's clock may be wrong by more. */
const AHEAD_MS_MAX = 50_000;
const SIGNED_ANEW: readonly string[] = ['request_expired', 'request_replayed'];

/**
 * @param now the clock here, in milliseconds since 1970
 * @param ask sends a request, whose answer is heard
 */
export function followClock(now: () => number, ask: () => Promise<unknown>): ServiceClock {
  /** How far the service is ahead, by the newest answer: one of an instance whose clock is wrong does not last. */
  let aheadMs: number | undefined;
  let greatestMs = 0;
  let asking: Promise<unknown> | undefined;

  async function nowMs(): Promise<number> {
    if (aheadMs === undefined) {
      // An answer without a time is none the next time either; a failed call is made again.
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
