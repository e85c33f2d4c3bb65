import { randomBytes } from 'node:crypto';
import type { Hex } from '@makerbook/contracts-primitives';
import { defineScript, type RedisConnection } from './connect.js';
import {
  DERIVED_TTL_SECONDS,
  DERIVED_TTL_SPARE_SECONDS,
  HINT_TTL_SECONDS_MAX,
  luaKeyNames,
  luaRelease,
  luaSince,
} from './keys.js';
import { encodeListEntry } from './list-entry.js';

/** The effect of a batch of the log on one order, as the caches need it. */
export type OrderChange =
  /** The order is listed: `opened` for the first time, or `changed` since. */
  | {
      readonly kind: 'opened' | 'changed';
      readonly maker: Hex;
      readonly orderHash: Hex;
      /** The order's salt as minimal hex, `0x1f`. */
      readonly salt: Hex;
      /** The offset of its `OrderSubmitted`. */
      readonly acceptedOffset: bigint;
      /** The second from which it is expired; at most 2^53 - 1. */
      readonly expiresAtSeconds: number;
      /** The whole record as it is listed (Interface 2.3): `recordStart` and `recordEnd` joined. */
      readonly record: string;
    }
  | {
      readonly kind: 'removed';
      readonly maker: Hex;
      readonly orderHash: Hex;
      readonly expiresAtSeconds: number;
    };

/** A committed batch of one partition. */
export interface RefreshBatch {
  readonly partition: number;
  /** The position that the batch started from: Redis must be at it for the changes to be enough. */
  readonly prevPos: bigint;
  /** The position that the batch ended at, as committed: the offset of the next record of the log. */
  readonly newPos: bigint;
  /** In the order of the log. Only the last change of an order counts. */
  readonly changes: readonly OrderChange[];
}

/**
 * `applied`: Redis was at `prevPos`, and everything it holds of the partition was brought to `newPos`.
 * `reset`: it was not (flushed, restarted, a refresh missed); all it held of the partition is void and is loaded anew.
 */
export type RefreshOutcome = 'applied' | 'reset';

export interface PartitionRefresher {
  /**
   * Brings Redis to the position of a committed batch; call it once per batch, in order, after the commit.
   * A repeat of the same batch is harmless. Throws RedisUnavailable: go on then, the next call will find that one was
   * missed.
   */
  refreshPartition(batch: RefreshBatch): Promise<RefreshOutcome>;
}

export interface PartitionRefresherOptions {
  /** Bounds on one script call, so that Redis answers others in between. A maker's changes stay together. */
  readonly callChangesMax?: number;
  readonly callBytesMax?: number;
  readonly randomEpoch?: () => string;
}

const CALL_CHANGES_MAX = 500;
const CALL_BYTES_MAX = 512 * 1024;

/**
 * Writes the projector's changes to the caches. Large batches are cut into several calls. The position moves with the last of
 * them; the first one bars fills of older snapshots, for they could no longer be brought up to date. What is left undone
 * by a failure in between is done by a repeat, or made void by the next batch.
 */
export function createPartitionRefresher(
  redis: RedisConnection,
  options: PartitionRefresherOptions = {},
): PartitionRefresher {
  const { callChangesMax = CALL_CHANGES_MAX, callBytesMax = CALL_BYTES_MAX } = options;
  const randomEpoch = options.randomEpoch ?? (() => randomBytes(9).toString('base64url'));

  return {
    async refreshPartition({ partition, prevPos, newPos, changes }) {
      const calls = cutIntoCalls(groupByMaker(changes), callChangesMax, callBytesMax);
      const epoch = randomEpoch();
      let outcome: RefreshOutcome = 'applied';
      for (const [index, args] of calls.entries()) {
        const place = index === calls.length - 1 ? 'last' : 'more';
        const answer = await redis.runScript(
          refreshScript,
          [redis.keys.partition(partition)],
          [redis.keys.prefix, String(prevPos), String(newPos), epoch, place, ...args],
        );
        if (answer === 'reset') outcome = 'reset';
      }
      return outcome;
    },
  };
}

/** The last change of every order by maker, in the order of first appearance. An order opened in the batch stays so. */
function groupByMaker(changes: readonly OrderChange[]): Map<string, Map<string, OrderChange>> {
  const makers = new Map<string, Map<string, OrderChange>>();
  for (const change of changes) {
    const orders = makers.get(change.maker) ?? new Map<string, OrderChange>();
    makers.set(change.maker, orders);
    const earlier = orders.get(change.orderHash);
    orders.set(
      change.orderHash,
      change.kind === 'changed' && earlier?.kind === 'opened' ? { ...change, kind: 'opened' } : change,
    );
  }
  return makers;
}

/** The arguments of each call. There is always one: an empty batch moves the position too. */
function cutIntoCalls(
  makers: Map<string, Map<string, OrderChange>>,
  changesMax: number,
  bytesMax: number,
): (string | number)[][] {
  let args: (string | number)[] = [];
  const calls = [args];
  let changes = 0;
  let bytes = 0;
  for (const [maker, orders] of makers) {
    const encoded: (string | number)[] = [];
    let makerBytes = 0;
    for (const change of orders.values()) {
      const fields = encodeChange(change);
      makerBytes += fields.reduce<number>((sum, field) => sum + String(field).length, 0);
      encoded.push(...fields);
    }
    if (changes > 0 && (changes + orders.size > changesMax || bytes + makerBytes > bytesMax)) {
      args = [];
      calls.push(args);
      changes = 0;
      bytes = 0;
    }
    args.push(maker, orders.size, ...encoded);
    changes += orders.size;
    bytes += makerBytes;
  }
  return calls;
}

function encodeChange(change: OrderChange): (string | number)[] {
  return change.kind === 'removed'
    ? [change.kind, change.orderHash, change.expiresAtSeconds, '', '']
    : [
        change.kind,
        change.orderHash,
        change.expiresAtSeconds,
        change.salt,
        encodeListEntry({ ...change, json: change.record }),
      ];
}

/**
 * KEYS 1 the partition's hash. ARGV prefix, prevPos, newPos, fresh epoch, `more` or `last`, then per maker: maker, number
 * of orders, and per order: kind, hash, expiresAtSeconds, salt, list entry.
 */
const refreshScript = defineScript(`
${luaKeyNames}${luaSince}${luaRelease}
local partition, prev, new, fresh, place = KEYS[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local state = redis.call('HMGET', partition, 'pos', 'epoch')
local pos, epoch = state[1], state[2]
local outcome = 'applied'
if not epoch or (pos ~= prev and pos ~= new) then
  outcome = 'reset'
  epoch = fresh
  redis.call('HSET', partition, 'epoch', epoch, 'pos', new)
  local now = redis.call('TIME')
  since(string.format('%.0f', now[1] * 1000 + math.ceil(now[2] / 1000)))
end
if place == 'more' then
  redis.call('HSET', partition, 'next', new)
else
  redis.call('HSET', partition, 'pos', new)
  redis.call('HDEL', partition, 'next')
end
local newPos = tonumber(new)
local number = string.match(partition, '%d+$')
local hintEnd = tonumber(redis.call('TIME')[1]) + ${HINT_TTL_SECONDS_MAX}
local at = 6
while at <= #ARGV do
  local maker, count = ARGV[at], tonumber(ARGV[at + 1])
  at = at + 2
  local list, ready = key('l', epoch, maker), key('r', epoch, maker)
  local seen, open = key('s', epoch, maker), key('o', epoch, maker)
  local filled = redis.call('HGET', list, '@')
  local isListed = filled and tonumber(string.sub(filled, 2)) < newPos
  local isReady = redis.call('EXISTS', ready) == 1
  local isUnderWay = redis.call('EXISTS', key('w', maker)) == 1
  for _ = 1, count do
    local kind, hash, expires, salt, entry = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4]
    at = at + 5
    local hint = key('h', hash)
    if kind == 'removed' then
      redis.call('DEL', hint)
      if isUnderWay then release(maker, hash) end
      if isListed then redis.call('HDEL', list, hash) end
      if isReady then
        redis.call('ZADD', seen, expires, hash)
        redis.call('ZREM', open, hash)
      end
    else
      if isListed then redis.call('HSET', list, hash, entry) end
      if kind == 'opened' then
        if redis.call('SET', hint, hintOf(number, epoch, maker, salt, expires), 'NX') then
          redis.call('EXPIREAT', hint, math.min(tonumber(expires), hintEnd))
        end
        if isReady then
          redis.call('ZADD', seen, expires, hash)
          redis.call('ZADD', open, expires, hash)
        end
      end
    end
  end
  if isListed then redis.call('HSET', list, '@v', '@' .. new) end
  if isReady then
    redis.call('EXPIRE', ready, ${DERIVED_TTL_SECONDS})
    redis.call('EXPIRE', seen, ${DERIVED_TTL_SECONDS + DERIVED_TTL_SPARE_SECONDS})
    redis.call('EXPIRE', open, ${DERIVED_TTL_SECONDS + DERIVED_TTL_SPARE_SECONDS})
  end
end
return outcome
`);
