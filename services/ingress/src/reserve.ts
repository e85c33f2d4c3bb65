import type { After, ReadModel } from '@makerbook/postgres';
import {
  beginLoading,
  finishLoading,
  type RedisConnection,
  RedisUnavailable,
  type ReserveOrders,
  type ReserveOutcome,
  reserveOrders,
  SEEN_SPARE_SECONDS,
  settleReservation,
} from '@makerbook/redis';
import type { Logger } from '@makerbook/telemetry';
import { asUnavailable, type Projection } from './await-projection.js';
import { Unavailable } from './refusal.js';

const POLL_MS = 15;
const LOADS_MAX = 5;

interface Asked extends Omit<ReserveOrders, 'reservationId' | 'nowMs' | 'leaseMs'> {
  /** Nothing is reserved after this time; undefined: there is none. */
  readonly validUntilMs: number | undefined;
}

/** An outcome that answers the request: nothing is left to be loaded or waited for. */
export type FinalOutcome =
  | Exclude<ReserveOutcome, { kind: 'cold' | 'emptied' | 'under_way' }>
  | { readonly kind: 'valid_until_passed' };

export interface Reserver {
  /**
   * Rate, duplicates, open orders and the reservation in one round trip to Redis; a maker whom Redis does not hold is
   * loaded from the read model first. Throws Unavailable: nothing stays reserved.
   */
  reserve(reservationId: string, asked: Asked): Promise<FinalOutcome>;
}

export interface ReserverParts {
  readonly redis: RedisConnection;
  readonly rows: Pick<ReadModel, 'loadReservations'>;
  readonly projection: Projection;
  readonly logger: Logger;
  /** How long to wait for the projector to publish its position to Redis, and for another request with the same order. */
  readonly waitMs: number;
  /** After this time other requests may resolve an unsettled reservation; longer than an append can take. */
  readonly leaseMs: number;
  readonly now: () => number;
  readonly after: After;
  /** Names a loading; never used twice. */
  readonly nextId: () => string;
}

export function createReserver(parts: ReserverParts): Reserver {
  const { redis, waitMs, leaseMs, now, after, logger } = parts;
  const loading = new Map<string, Promise<void>>();

  function load(maker: ReserveOrders['makers'][number]): Promise<void> {
    const underWay = loading.get(maker.maker);
    if (underWay !== undefined) return underWay;
    const started = loadMaker(parts, maker).finally(() => loading.delete(maker.maker));
    loading.set(maker.maker, started);
    return started;
  }

  async function tryReserve(reservationId: string, asked: Asked): Promise<FinalOutcome> {
    const deadline = now() + waitMs;
    let loads = 0;
    for (;;) {
      const nowMs = now();
      if (asked.validUntilMs !== undefined && nowMs > asked.validUntilMs) return { kind: 'valid_until_passed' };
      const outcome = await reserveOrders(redis, { ...asked, reservationId, nowMs, leaseMs });
      if (outcome.kind === 'cold') {
        loads += 1;
        if (loads > LOADS_MAX) throw new Unavailable('the maker could not be loaded: the read model keeps moving');
        await Promise.all(outcome.makerIndexes.map((index) => load(makerAt(asked, index))));
      } else if (outcome.kind === 'emptied') {
        throw new Unavailable('the cache was emptied while the request was under way');
      } else if (outcome.kind === 'under_way') {
        if (now() >= deadline) throw new Unavailable('another request with the same order is still under way');
        await pause(after);
      } else {
        return outcome;
      }
    }
  }

  return {
    async reserve(reservationId, asked) {
      try {
        return await tryReserve(reservationId, asked);
      } catch (error) {
        if (!(error instanceof RedisUnavailable)) throw error;
        void releaseWhenBack(parts, reservationId, asked.makers).catch((reason: unknown) =>
          logger.warn({ reason: String(reason) }, 'a reservation is left to its lease'),
        );
        throw new Unavailable('Redis does not answer', { cause: error });
      }
    },
  };
}

/** The reply to a reservation was lost: it may have been made. It is released as soon as Redis is back. */
async function releaseWhenBack(
  { redis, leaseMs }: ReserverParts,
  reservationId: string,
  makers: ReserveOrders['makers'],
): Promise<void> {
  const addresses = makers.map(({ maker }) => maker);
  if (await redis.waitUntilReady(leaseMs)) await settleReservation(redis, reservationId, addresses, 'not_appended');
}

/**
 * Loads a maker whom Redis does not hold from the read model; so a flushed Redis fills again, maker by maker. Once the read
 * model has reached the present end of the log, it holds every order that was answered with 200.
 */
async function loadMaker(parts: ReserverParts, { maker, partition }: ReserveOrders['makers'][number]): Promise<void> {
  const { redis, rows, projection, now, after, waitMs } = parts;
  const toLoad = { maker, partition, loadId: parts.nextId() };
  const deadline = now() + waitMs;
  let begun = await beginLoading(redis, toLoad, now());
  while (begun === 'later') {
    if (now() >= deadline) throw new Unavailable('the maker waits for the projector, or for a request of its own');
    await pause(after);
    begun = await beginLoading(redis, toLoad, now());
  }
  if (begun === 'warm') return;
  await projection.reachEnd(partition);
  for (let attempt = 0; attempt < LOADS_MAX; attempt += 1) {
    const sinceSeconds = Math.floor(now() / 1000) - SEEN_SPARE_SECONDS;
    const { nextOffset, isQuarantined, accepted } = await asUnavailable(() =>
      rows.loadReservations(maker, partition, sinceSeconds),
    );
    if (isQuarantined) throw new Unavailable('the maker is in quarantine, and what it has placed since is not known');
    if ((await finishLoading(redis, toLoad, begun.epoch, nextOffset, accepted)) !== 'overtaken') return;
  }
  throw new Unavailable('the maker could not be loaded: the read model keeps moving');
}

function pause(after: After): Promise<void> {
  return new Promise((done) => after(POLL_MS, done));
}

function makerAt(asked: Asked, index: number): ReserveOrders['makers'][number] {
  const maker = asked.makers[index];
  if (maker === undefined) throw new Error(`the request has no maker ${index}`);
  return maker;
}
