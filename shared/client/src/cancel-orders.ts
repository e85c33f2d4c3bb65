import { cancelBySaltRequestTypes } from '@makerbook/contracts-evm/typed-data';
import type { Cancellation } from '@makerbook/contracts-http';
import { paths } from '@makerbook/contracts-http/paths';
import {
  type Address,
  quantity,
  readArray,
  readUint256,
  readWhole,
  UNIX_MS,
  type Whole,
} from '@makerbook/contracts-primitives';
import { type CallOptions, callService, readList } from './call-service.js';
import type { ServiceClock } from './follow-clock.js';
import type { RequestSigner } from './sign-requests.js';
import { type OrderToCancel, readOrdersToCancel, type SaltsToCancel } from './take-orders.js';

/** More than any service allows. */
const WAIT_SECONDS = { unit: 'seconds', min: 0, max: 60 };

export interface AwaitedCancellations {
  readonly cancellations: Cancellation[];
  /** Whether the cancelled orders are out of the feed. False if the time ran out, or nothing was cancelled. */
  readonly isOutOfFeed: boolean;
  /** Whether all registered routers have acknowledged the cancellation. False if the call did not wait for them. */
  readonly isSeenByRouters: boolean;
  /** The routers that have not acknowledged the cancellation. */
  readonly unseenBy: readonly string[];
  /** `<partition>:<offset>` in the log, one for each partition; undefined if nothing was cancelled. */
  readonly position: string | undefined;
}

/** What the answer waits for: the router's feed, unless routers are named. */
export interface WaitOptions {
  readonly by?: 'router';
}

export interface CancelParts {
  readonly signing: RequestSigner;
  readonly calling: CallOptions;
  readonly clock: ServiceClock;
  readonly maker: () => Promise<Address>;
  /** Retries work that is retryable. */
  readonly again: <T>(work: () => Promise<T>) => Promise<T>;
}

/** Signs cancellations, as items of a body. @param field names the list. @throws WrongValue */
export function signCancellations(signing: RequestSigner, field: string, orders: readonly OrderToCancel[]) {
  return Promise.all(
    readOrdersToCancel(field, orders).map(async ({ orderHash, salt, expiresAt }) => ({
      orderHash,
      signature: await signing.signCancellation({ orderHash, salt }),
      salt: quantity(salt),
      ...(expiresAt !== undefined && { expiresAt: quantity(expiresAt) }),
    })),
  );
}

/** Signs the cancellation of all orders with some salts, as a body. @throws WrongValue */
export async function signSalts(
  { signing, clock, maker }: Pick<CancelParts, 'signing' | 'clock' | 'maker'>,
  { salts, untilMs }: SaltsToCancel,
) {
  const message = {
    maker: await maker(),
    salts: readArray('salts', salts).map((salt, index) => quantity(readUint256(`salts[${index}]`, salt))),
    untilMs: untilMs === undefined ? await clock.latestMs() : readWhole('untilMs', untilMs, UNIX_MS),
  };
  return { ...message, signature: await signing.signMessage(cancelBySaltRequestTypes, message) };
}

/** POST …/cancellations. With `waitSeconds` above 0 the answer waits for the feed, so the call's timeout grows. */
export function createCancel({ signing, calling, again, ...parts }: CancelParts) {
  return async (
    orders: readonly OrderToCancel[] | SaltsToCancel,
    wait: Whole,
    { by }: WaitOptions = {},
  ): Promise<AwaitedCancellations> => {
    const waitSeconds = readWhole('waitSeconds', wait, WAIT_SECONDS);
    const body = await ('salts' in orders
      ? signSalts({ signing, ...parts }, orders)
      : signCancellations(signing, 'orders', orders));
    const call = { method: 'POST', path: paths.cancellations, body } as const;
    const Prefer = `wait=${waitSeconds}${by === undefined ? '' : `; by=${by}`}`;
    const asked = waitSeconds > 0 ? { ...call, headers: { Prefer } } : call;
    return again(async () => {
      const answer = await callService(asked, {
        ...calling,
        timeoutMs: calling.timeoutMs + waitSeconds * 1000,
      });
      const { headers } = answer;
      const applied = headers.get('preference-applied') ?? '';
      return {
        cancellations: readList(answer),
        isOutOfFeed: /\bwait=/.test(applied),
        isSeenByRouters: /\bby=router\b/.test(applied),
        unseenBy: headers.get('x-unseen-by')?.split(', ') ?? [],
        position: headers.get('x-log-position') ?? undefined,
      };
    });
  };
}
