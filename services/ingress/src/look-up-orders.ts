import type { Hex } from '@makerbook/contracts-events';
import type { Address } from '@makerbook/domain';
import { findOrders, type Postgres } from '@makerbook/postgres';
import { findHints, type Hint, type RedisConnection, RedisUnavailable } from '@makerbook/redis';
import { asUnavailable, type Projection } from './await-projection.js';
import { Unavailable } from './refusal.js';

/** Whose an order is, and the salt that its cancellation is signed with unless the request says otherwise. */
export interface Whose {
  readonly maker: Address;
  readonly salt: Hex;
}

/** Finds the open ones among the hashes. Throws Unavailable when it cannot be told of all of them. */
export type LookUp = (orderHashes: readonly Hex[]) => Promise<ReadonlyMap<Hex, Whose>>;

export interface LookUpParts {
  readonly redis: RedisConnection;
  readonly postgres: Postgres;
  readonly projection: Projection;
  readonly now: () => number;
}

/**
 * Redis knows orders from the moment they are stored; what it does not know, the read model is asked for, and asked
 * again when it has reached the log's end as of now: an order that was answered with 200 is always found. One that
 * another request is still appending is not: its cancellation could come to stand before it, and would cancel nothing.
 */
export function createLookUp({ redis, postgres, projection, now }: LookUpParts): LookUp {
  async function hintsOf(orderHashes: readonly Hex[]): Promise<readonly Hint[]> {
    try {
      return await findHints(redis, orderHashes, now());
    } catch (error) {
      if (error instanceof RedisUnavailable) return orderHashes.map(() => undefined);
      throw error;
    }
  }

  /** Asked for last: what was stored meanwhile is found, what was given up is gone. */
  async function addSettled(orderHashes: readonly Hex[], found: Map<Hex, Whose>): Promise<void> {
    const hints = await findHints(redis, orderHashes, now()).catch((error: unknown) => {
      throw error instanceof RedisUnavailable ? new Unavailable('Redis does not answer', { cause: error }) : error;
    });
    for (const [index, orderHash] of orderHashes.entries()) {
      const hint = hints[index];
      if (hint === 'under_way') throw new Unavailable(`order ${orderHash} is being placed right now`);
      if (hint !== undefined && hint !== 'cancelled') found.set(orderHash, hint);
    }
  }

  return async (orderHashes) => {
    const found = new Map<Hex, Whose>();
    let unknown: Hex[] = [];
    const underWay = new Set<Hex>();
    const hints = await hintsOf(orderHashes);
    for (const [index, orderHash] of orderHashes.entries()) {
      const hint = hints[index];
      if (hint === 'under_way') underWay.add(orderHash);
      if (hint === undefined || hint === 'under_way') unknown.push(orderHash);
      else if (hint !== 'cancelled') found.set(orderHash, hint);
    }
    for (const isCurrent of [false, true]) {
      if (unknown.length === 0) break;
      if (isCurrent) await projection.reachEndEverywhere();
      const rows = await asUnavailable(() => findOrders(postgres, unknown));
      for (const [orderHash, whose] of rows) found.set(orderHash, whose);
      unknown = unknown.filter((orderHash) => !rows.has(orderHash));
    }
    const unsettled = unknown.filter((orderHash) => underWay.has(orderHash));
    if (unsettled.length > 0) await addSettled(unsettled, found);
    return found;
  };
}
