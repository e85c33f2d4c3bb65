import type { Hex } from '@makerbook/contracts-primitives';
import type { FoundOrder, ReadModel } from '@makerbook/postgres';
import { findHints, type HintedOrder, type Hints, type RedisConnection, RedisUnavailable } from '@makerbook/redis';
import { asUnavailable, type Projection } from './await-projection.js';
import { Unavailable } from './refusal.js';

/** What is known of the hashes of a DELETE. */
export interface FoundOrders {
  /**
   * Orders that are open, being placed, or whose append has an unknown outcome. The others are gone, unless `unsure` names
   * them: they can only be placed by a new POST.
   */
  readonly found: ReadonlyMap<Hex, FoundOrder>;
  /** Hashes of orders that may or may not be placed, and the reason. */
  readonly unsure: { readonly orderHashes: readonly Hex[]; readonly reason: string } | undefined;
}

export type LookUp = (orderHashes: readonly Hex[]) => Promise<FoundOrders>;

export interface LookUpParts {
  readonly redis: RedisConnection;
  readonly rows: ReadModel;
  readonly projection: Projection;
  /** The longest time from a reservation to the end of its append. */
  readonly appendMsMax: number;
  readonly now: () => number;
}

/**
 * Redis holds an order from before it is appended until it is removed; the read model is queried for the rest. A hash in
 * neither is gone if Redis was complete: since its last flush or restart all earlier appends have ended, and the read
 * model has reached the end of the log, for every maker, and was not replaced by an older one since.
 */
export function createLookUp({ redis, rows, projection, appendMsMax, now }: LookUpParts): LookUp {
  /** The run of Redis, without a loss, that was found complete, and the ends of the log by then: what it lacks is before them. */
  let complete: { readonly id: string; readonly ends: readonly bigint[] } | undefined;

  /** Throws Unavailable. */
  async function awaitComplete({ id, ms }: NonNullable<Hints['since']>): Promise<NonNullable<typeof complete>> {
    const waitMs = ms + appendMsMax - now();
    if (waitMs > 0) throw new Unavailable(`the cache was emptied a moment ago: try again in ${waitMs} ms`);
    const ends = await projection.reachEndEverywhere();
    if (await asUnavailable(rows.hasQuarantined)) throw new Unavailable('a maker is in quarantine');
    return { id, ends };
  }

  return async (orderHashes) => {
    const known = await hintsOf(redis, orderHashes, now());
    const { found, stale, absent } = groupByHint(orderHashes, known);
    if (stale.size + absent.length === 0) return { found, unsure: undefined };
    try {
      const [positions] = await Promise.all([addOpen(rows, absent, found), addUnended(rows, stale, found)]);
      const missing = absent.filter((orderHash) => !found.has(orderHash));
      if (missing.length === 0) return { found, unsure: undefined };
      if (known === undefined) return { found, unsure: { orderHashes: missing, reason: 'Redis does not answer' } };
      const { since } = known;
      if (since !== undefined && (since.id !== complete?.id || isBehind(positions, complete.ends))) {
        complete = await awaitComplete(since);
        const newer = await addOpen(rows, missing, found);
        if (isBehind(newer, complete.ends)) throw new Unavailable('the read model was replaced by an older one');
      }
      return { found, unsure: undefined };
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      const unsure = [...stale.keys(), ...absent].filter((orderHash) => !found.has(orderHash));
      return { found, unsure: { orderHashes: unsure, reason: error.message } };
    }
  };
}

async function hintsOf(redis: RedisConnection, orderHashes: readonly Hex[], nowMs: number): Promise<Hints | undefined> {
  try {
    return await findHints(redis, orderHashes, nowMs);
  } catch (error) {
    if (error instanceof RedisUnavailable) return undefined;
    throw error;
  }
}

function groupByHint(orderHashes: readonly Hex[], known: Hints | undefined) {
  const found = new Map<Hex, FoundOrder>();
  const stale = new Map<Hex, HintedOrder>();
  const absent: Hex[] = [];
  for (const [index, orderHash] of orderHashes.entries()) {
    const hint = known?.hints[index] ?? { kind: 'absent' };
    if (hint.kind === 'absent') absent.push(orderHash);
    else if (hint.kind === 'hinted') (hint.isCurrent ? found : stale).set(orderHash, hint);
  }
  return { found, stale, absent };
}

/** Adds the orders that are open in the read model. Returns the positions that they reflect. Throws Unavailable. */
async function addOpen(
  rows: ReadModel,
  orderHashes: readonly Hex[],
  found: Map<Hex, FoundOrder>,
): Promise<ReadonlyMap<number, bigint>> {
  if (orderHashes.length === 0) return new Map();
  const { orders, positions } = await asUnavailable(() => rows.findOrders(orderHashes));
  for (const [orderHash, order] of orders) found.set(orderHash, order);
  return positions;
}

function isBehind(positions: ReadonlyMap<number, bigint>, ends: readonly bigint[]): boolean {
  return ends.some((end, partition) => (positions.get(partition) ?? 0n) < end);
}

/** Adds those with a stale hint that have not ended in the read model: they are open, or may still be being placed. Throws Unavailable. */
async function addUnended(
  rows: ReadModel,
  stale: ReadonlyMap<Hex, HintedOrder>,
  found: Map<Hex, FoundOrder>,
): Promise<void> {
  if (stale.size === 0) return;
  const keys = [...stale].map(([orderHash, { maker, expiresAtSeconds }]) => ({ orderHash, maker, expiresAtSeconds }));
  const ended = await asUnavailable(() => rows.findEnded(keys));
  for (const [orderHash, hint] of stale) if (!ended.has(orderHash)) found.set(orderHash, hint);
}
