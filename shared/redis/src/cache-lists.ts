import type { Hex } from '@makerbook/contracts-primitives';
import { defineScript, type RedisConnection, RedisUnavailable } from './connect.js';
import { holdLists } from './hold-lists.js';
import { DERIVED_TTL_SECONDS } from './keys.js';
import { encodeListEntry, type JoinedRecords, joinEntries, type ListedOrder, nextExpiryOf } from './list-entry.js';

/**
 * What Redis holds of a maker's list.
 * `list`: as of position `pos`, without the expired ones, oldest acceptance first.
 * `cold`: Redis is at `pos` and does not hold this list; `epoch` is what a fill must name.
 * `forgotten`: it has no position of the partition until the projector's next refresh.
 */
export type ListReading =
  | { readonly kind: 'list'; readonly pos: bigint; readonly list: JoinedRecords }
  | { readonly kind: 'cold'; readonly pos: bigint; readonly epoch: string }
  | { readonly kind: 'forgotten' };

/** A maker's list as one snapshot of the read model holds it. */
export interface ListFill {
  readonly maker: Hex;
  readonly partition: number;
  /** The epoch that the reading named, taken before the snapshot. */
  readonly epoch: string;
  /** The partition's position in the same snapshot as the orders. */
  readonly snapshotPos: bigint;
  readonly orders: readonly ListedOrder[];
}

/** `refused`: Redis has moved on beyond the snapshot, or was flushed meanwhile. `tooLarge`: not worth its room. */
export type FillOutcome = 'filled' | 'refused' | 'tooLarge';

export interface ListCache {
  /** The position that Redis reflects of a partition, undefined while it knows none. Throws RedisUnavailable. */
  readPosition(partition: number): Promise<bigint | undefined>;
  /** One round trip. `nowSeconds` is the server's clock, by which expired orders are hidden. Throws RedisUnavailable. */
  readList(maker: Hex, partition: number, nowSeconds: number): Promise<ListReading>;
  /** Offers a list read from a snapshot; taken only where every later change of it will be seen. Throws RedisUnavailable. */
  fillList(fill: ListFill): Promise<FillOutcome>;
}

export interface ListCacheOptions {
  /** A longer list stays in Postgres: one fill must not hold Redis up. Default 5000. */
  readonly fillOrdersMax?: number;
  /** Bound on the lists that this process holds to spare their transfer. Default 64 MiB. */
  readonly heldBytesMax?: number;
}

/**
 * The lists of makers in Redis. They are whole or absent, and never older than the position that is read with them.
 * A list is held in memory until its version in Redis changes: polling an unchanged list costs one round trip and returns
 * the same list.
 */
export function createListCache(redis: RedisConnection, options: ListCacheOptions = {}): ListCache {
  const { fillOrdersMax = 5000, heldBytesMax = 64 * 1024 * 1024 } = options;
  const { keys } = redis;
  /** The epoch seen last, by partition: the name of a list carries it, and it hardly ever changes. */
  const epochs = new Map<number, string>();
  const held = holdLists(heldBytesMax);

  /** In one step: the partition's position, and a list, or only its version where the records are held in memory. */
  async function readUnderEpoch(epoch: string, maker: Hex, partition: number, isHeld: boolean): Promise<Raw> {
    const list = keys.list(epoch, maker);
    const results = await redis.attempt((client) => {
      const reading = client.multi().hmget(keys.partition(partition), 'pos', 'epoch').hget(list, '@v');
      return (isHeld ? reading : reading.hvalsBuffer(list)).exec();
    });
    if (results === null) throw new RedisUnavailable('the transaction was dropped');
    const [pos, current] = answerOf(results[0]) as [string | null, string | null];
    const version = answerOf(results[1]) as string | null;
    return { pos, current, version, values: isHeld ? [] : (answerOf(results[2]) as Buffer[]) };
  }

  function joinValues(maker: Hex, epoch: string, { version, values }: Raw, nowSeconds: number): JoinedRecords {
    const entries = values.filter((value) => value[0] !== MARK);
    const list = joinEntries(entries, nowSeconds);
    const untilSeconds = nextExpiryOf(entries, nowSeconds);
    held.keep({ maker, epoch, version: version ?? '', list, sinceSeconds: nowSeconds, untilSeconds });
    return list;
  }

  return {
    async readPosition(partition) {
      const pos = await redis.attempt((client) => client.hget(keys.partition(partition), 'pos'));
      return pos === null ? undefined : BigInt(pos);
    },

    async readList(maker, partition, nowSeconds) {
      let epoch = epochs.get(partition) ?? '';
      const own = held.find(maker, epoch, nowSeconds);
      let reading = await readUnderEpoch(epoch, maker, partition, own !== undefined);
      if (own !== undefined && reading.pos !== null && reading.current === epoch && reading.version === own.version) {
        return { kind: 'list', pos: BigInt(reading.pos), list: own.list };
      }
      if (reading.current !== null && (own !== undefined || reading.current !== epoch)) {
        epoch = reading.current;
        epochs.set(partition, epoch);
        reading = await readUnderEpoch(epoch, maker, partition, false);
      }
      // Flushed, or given another epoch between the two reads: nothing that was read is valid.
      if (reading.pos === null || reading.current !== epoch) return { kind: 'forgotten' };
      const pos = BigInt(reading.pos);
      if (reading.values.length === 0) return { kind: 'cold', pos, epoch };
      return { kind: 'list', pos, list: joinValues(maker, epoch, reading, nowSeconds) };
    },

    async fillList({ maker, partition, epoch, snapshotPos, orders }) {
      if (orders.length > fillOrdersMax) return 'tooLarge';
      const fields = orders.flatMap((order) => [order.orderHash, encodeListEntry(order)]);
      const outcome = await redis.runScript(
        fillScript,
        [keys.partition(partition), keys.list(epoch, maker)],
        [epoch, String(snapshotPos), ...fields],
      );
      return outcome === 'filled' ? 'filled' : 'refused';
    },
  };
}

/** What one read of Redis answers. */
interface Raw {
  readonly pos: string | null;
  readonly current: string | null;
  readonly version: string | null;
  readonly values: readonly Buffer[];
}

/** The first character of what is no entry: `@`, the position of the fill, and `@v`, the version of the list. */
const MARK = '@'.charCodeAt(0);

function answerOf(result: [Error | null, unknown] | undefined): unknown {
  if (result === undefined) throw new RedisUnavailable('the answer is short');
  const [error, value] = result;
  if (error !== null) throw new RedisUnavailable(error.message, { cause: error });
  return value;
}

/**
 * KEYS 1 the partition's hash, 2 the list. ARGV epoch, position of the snapshot, then hash and entry alternating.
 * `next` is the position that a refresh in several calls is on its way to: the list's changes may already have been applied.
 */
const fillScript = defineScript(`
local state = redis.call('HMGET', KEYS[1], 'epoch', 'pos', 'next')
local snapshot = tonumber(ARGV[2])
if state[1] ~= ARGV[1] or snapshot < tonumber(state[2]) or snapshot < tonumber(state[3] or '0') then return 'refused' end
redis.call('DEL', KEYS[2])
redis.call('HSET', KEYS[2], '@', '@' .. ARGV[2], '@v', '@f' .. ARGV[2])
for at = 3, #ARGV, 1000 do
  redis.call('HSET', KEYS[2], unpack(ARGV, at, math.min(at + 999, #ARGV)))
end
redis.call('EXPIRE', KEYS[2], ${DERIVED_TTL_SECONDS})
return 'filled'
`);
