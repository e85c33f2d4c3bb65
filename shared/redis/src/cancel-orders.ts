import type { Hex } from '@makerbook/contracts-primitives';
import { defineScript, type RedisConnection } from './connect.js';
import { type Budget, luaBudget } from './guard-replays.js';
import { luaKeyNames, luaRelease, luaSince } from './keys.js';

/** An order that was reserved once, from its hint. */
export interface HintedOrder {
  readonly kind: 'hinted';
  readonly maker: Hex;
  readonly salt: Hex;
  readonly expiresAtSeconds: number;
  /**
   * True: it is open, being placed, or its append has an unknown outcome. False: it may have been removed since, because
   * this Redis has missed changes of its partition.
   */
  readonly isCurrent: boolean;
}

/** The cache's knowledge of a hash. `absent`: none, and no POST that has arrived by now will place it. */
export type Hint = HintedOrder | { readonly kind: 'cancelled' } | { readonly kind: 'absent' };

export interface Hints {
  /** In the order of the hashes. */
  readonly hints: readonly Hint[];
  /** The time since when Redis has lost nothing, and an id for it. Undefined where no hash is absent. */
  readonly since: { readonly id: string; readonly ms: number } | undefined;
}

/** A cancellation that was answered before the projector saw it is remembered this long where the order had no hint. */
const CANCELLED_HINT_SECONDS = 60;

/** Longer than a POST can take from its arrival to its reservation. */
const ABSENT_MS = 30_000;

/**
 * Looks the hashes up, in their order (Interface 4.4). An absent hash is recorded as such in the same step: a POST that
 * arrived before `nowMs` and has reserved nothing yet is then refused, also where an older look-up comes late. Throws
 * RedisUnavailable.
 */
export async function findHints(redis: RedisConnection, orderHashes: readonly Hex[], nowMs: number): Promise<Hints> {
  const args = [redis.keys.prefix, nowMs, ...orderHashes];
  const [since, values] = (await redis.runScript(findScript, [], args)) as [string, string[]];
  return {
    hints: values.map(readHint),
    since: since === '' ? undefined : { id: since, ms: Number(since.split(':')[1]) },
  };
}

/** The outcome of a charge. `remaining`: what is left of each maker's budget. */
export type ChargeOutcome =
  | { readonly kind: 'charged'; readonly remaining: readonly number[] }
  | {
      readonly kind: 'rate_limited';
      /** The maker whose budget does not hold so many. */
      readonly makerIndex: number;
      readonly retryAfterMs: number;
      readonly remaining: readonly number[];
    };

/** Charges cancellations to the budgets of their makers: all or none. Throws RedisUnavailable. */
export async function chargeCancels(
  redis: RedisConnection,
  makers: readonly { readonly maker: Hex; readonly count: number }[],
  budget: Budget,
  nowMs: number,
): Promise<ChargeOutcome> {
  const args = [redis.keys.prefix, nowMs, budget.ratePerSecond, budget.burst];
  for (const { maker, count } of makers) args.push(maker, count);
  const [refused, retryAfterMs, remaining] = (await redis.runScript(chargeScript, [], args)) as [
    number,
    number,
    number[],
  ];
  if (refused === 0) return { kind: 'charged', remaining };
  return { kind: 'rate_limited', makerIndex: refused - 1, retryAfterMs, remaining };
}

/**
 * After the log has acknowledged the cancellations: the orders no longer count as open, and a repeat finds them gone
 * before the projector has processed them. Throws RedisUnavailable; the projector does the same a moment later.
 */
export async function noteCancelled(
  redis: RedisConnection,
  orders: readonly { readonly maker: Hex; readonly partition: number; readonly orderHash: Hex }[],
): Promise<void> {
  const args = orders.flatMap(({ maker, partition, orderHash }) => [maker, partition, orderHash]);
  await redis.runScript(cancelledScript, [], [redis.keys.prefix, ...args]);
}

function readHint(value: string): Hint {
  if (value === '') return { kind: 'absent' };
  if (value === '-') return { kind: 'cancelled' };
  const [isCurrent, maker, salt, expires] = value.split(':');
  return {
    kind: 'hinted',
    maker: maker as Hex,
    salt: salt as Hex,
    expiresAtSeconds: Number(expires),
    isCurrent: isCurrent === '1',
  };
}

// A hint of an earlier epoch is current only while its own request is under way: Redis may have missed the removal.
const findScript = defineScript(`${luaKeyNames}${luaSince}
local nowMs, epochs, found, sinceId = ARGV[2], {}, {}, ''
local function isUnderWay(maker, hash)
  for _, lease in ipairs(redis.call('HVALS', key('w', maker))) do
    if string.find(lease, hash, 1, true) then return true end
  end
  return false
end
for arg = 3, #ARGV do
  local hash = ARGV[arg]
  local hint = redis.call('GET', key('h', hash))
  if not hint then
    local latest = tonumber(redis.call('GET', key('a', hash)) or '0')
    if latest < tonumber(nowMs) then redis.call('SET', key('a', hash), nowMs, 'PX', ${ABSENT_MS}) end
    if sinceId == '' then sinceId = since(nowMs) end
    found[arg - 2] = ''
  elseif hint == '-' then
    found[arg - 2] = '-'
  else
    local partition, epoch, maker, order = string.match(hint, '^(%d+):([^:]+):([^:]+):(.+)$')
    epochs[partition] = epochs[partition] or redis.call('HGET', key('p', partition), 'epoch') or ''
    local isCurrent = epochs[partition] == epoch or isUnderWay(maker, hash)
    found[arg - 2] = (isCurrent and '1:' or '0:') .. maker .. ':' .. order
  end
end
return { sinceId, found }
`);

const chargeScript = defineScript(`${luaKeyNames}${luaBudget}
local nowMs, rate, burst = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local remaining, left = {}, {}
local refused, retryMs = 0, 0
for arg = 5, #ARGV, 2 do
  local i, count = (arg - 3) / 2, tonumber(ARGV[arg + 1])
  local tokens = budgetAt(key('c', ARGV[arg]), nowMs, rate, burst)
  remaining[i], left[i] = math.floor(tokens), tokens - count
  if tokens + 0.00001 < count and refused == 0 then
    refused, retryMs = i, math.ceil((count - tokens) * 1000 / rate)
  end
end
if refused == 0 then
  for i, tokens in ipairs(left) do
    setBudget(key('c', ARGV[3 + 2 * i]), math.max(0, tokens), nowMs, rate, burst)
    remaining[i] = math.floor(math.max(0, tokens))
  end
end
return { refused, retryMs, remaining }
`);

const cancelledScript = defineScript(`${luaKeyNames}${luaRelease}
for arg = 2, #ARGV, 3 do
  local maker, hash = ARGV[arg], ARGV[arg + 2]
  local epoch = redis.call('HGET', key('p', ARGV[arg + 1]), 'epoch')
  if epoch then redis.call('ZREM', key('o', epoch, maker), hash) end
  release(maker, hash)
  if not redis.call('SET', key('h', hash), '-', 'KEEPTTL', 'XX') then
    redis.call('SET', key('h', hash), '-', 'EX', ${CANCELLED_HINT_SECONDS})
  end
end
return 1
`);
