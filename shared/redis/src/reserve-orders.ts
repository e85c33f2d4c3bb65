import type { Hex } from '@makerbook/contracts-primitives';
import { defineScript, type RedisConnection } from './connect.js';
import { type Budget, luaBudget } from './guard-replays.js';
import {
  DERIVED_TTL_SECONDS,
  DERIVED_TTL_SPARE_SECONDS,
  HINT_TTL_SECONDS_MAX,
  luaKeyNames,
  SEEN_SPARE_SECONDS,
} from './keys.js';

/** An order to be reserved. */
export interface OrderToReserve {
  /** Its maker, as an index into `makers`. */
  readonly makerIndex: number;
  readonly orderHash: Hex;
  /** In minimal hex; goes into the hint by which DELETE finds it. */
  readonly salt: Hex;
  /** At most 2^53 - 1, and after `nowMs`. */
  readonly expiresAtSeconds: number;
}

/** A maker with the limits that count for it. */
export interface ReservingMaker {
  readonly maker: Hex;
  readonly partition: number;
  readonly budget: Budget;
  readonly openOrdersMax: number;
}

export interface ReserveOrders {
  /** Names this attempt for `settleReservation`; never used twice. */
  readonly reservationId: string;
  readonly nowMs: number;
  /** When the request arrived: an order that a DELETE has found unknown since then is not placed. */
  readonly receivedAtMs: number;
  /** After this time other requests may resolve the outcome by Postgres; well after the end of the append. */
  readonly leaseMs: number;
  readonly makers: readonly ReservingMaker[];
  /** In the order of the request. */
  readonly orders: readonly OrderToReserve[];
  /** True when a check that follows the rate limit has failed already: the orders are charged and nothing else. */
  readonly chargeOnly: boolean;
  /** The first item that repeats an earlier hash of the request, if any. */
  readonly firstRepeatAt: number | undefined;
}

/**
 * The outcome. `index` is the item of the request that failed. `remaining`: what is left of each maker's budget.
 * - `cold`: these makers (by index) have to be loaded first; nothing was charged.
 * - `emptied`: this Redis has lost what it held since the request arrived, perhaps that its hash was answered as unknown;
 *   nothing was charged.
 * - `cancelled`: while the request was under way, a DELETE was answered that the hash is unknown.
 * - `under_way`: the same hash is being appended by another request right now; nothing was charged.
 * - all others but `rate_limited` and `over_budget` have charged the orders.
 */
export type ReserveOutcome =
  | { readonly kind: 'reserved'; readonly remaining: readonly number[] }
  | { readonly kind: 'charged'; readonly remaining: readonly number[] }
  | {
      readonly kind: 'rate_limited';
      readonly index: number;
      /** When the whole request would fit. */
      readonly retryAfterMs: number;
      readonly remaining: readonly number[];
    }
  | { readonly kind: 'over_budget'; readonly index: number; readonly remaining: readonly number[] }
  | { readonly kind: 'duplicate'; readonly index: number; readonly remaining: readonly number[] }
  | { readonly kind: 'cancelled'; readonly index: number; readonly remaining: readonly number[] }
  | {
      readonly kind: 'too_many_open';
      readonly index: number;
      /** Open or reserved before this request. */
      readonly openOrders: number;
      readonly remaining: readonly number[];
    }
  | { readonly kind: 'under_way'; readonly index: number }
  | { readonly kind: 'emptied' }
  | { readonly kind: 'cold'; readonly makerIndexes: readonly number[] };

/**
 * Rate, duplicates, open orders and the reservation itself for all makers of a request, as one atomic step and one round
 * trip (Interface 4.3, rules 1, 2 and 4). Phase by phase over the whole request, the lowest index first inside a phase.
 * Throws RedisUnavailable; the reservation may have been made then: release it when Redis is back.
 */
export async function reserveOrders(redis: RedisConnection, request: ReserveOrders): Promise<ReserveOutcome> {
  const args: (string | number)[] = [
    redis.keys.prefix,
    request.nowMs,
    request.reservationId,
    request.nowMs + request.leaseMs,
    request.chargeOnly ? 1 : 0,
    request.firstRepeatAt ?? -1,
    request.receivedAtMs,
    request.makers.length,
  ];
  for (const { maker, partition, budget, openOrdersMax } of request.makers)
    args.push(maker, partition, budget.ratePerSecond, budget.burst, openOrdersMax);
  // One argument for all orders: hundreds of small ones cost the client more than the script saves.
  let orders = '';
  for (const { makerIndex, orderHash, expiresAtSeconds, salt } of request.orders) {
    orders += `${makerIndex + 1} ${orderHash} ${expiresAtSeconds} ${salt};`;
  }
  args.push(orders);
  const reply = (await redis.runScript(reserveScript, [], args)) as Reply;
  return readReply(reply);
}

/** Kind, index, a number of the kind's own, remaining budget by maker, indexes of cold makers. */
type Reply = readonly [kind: string, index: number, figure: number, remaining: number[], cold: number[]];

function readReply([kind, index, figure, remaining, cold]: Reply): ReserveOutcome {
  switch (kind) {
    case 'reserved':
    case 'charged':
      return { kind, remaining };
    case 'emptied':
      return { kind };
    case 'rate_limited':
      return { kind, index, retryAfterMs: figure, remaining };
    case 'over_budget':
    case 'duplicate':
    case 'cancelled':
      return { kind, index, remaining };
    case 'too_many_open':
      return { kind, index, openOrders: figure, remaining };
    case 'under_way':
      return { kind, index };
    case 'cold':
      return { kind, makerIndexes: cold };
    default:
      throw new Error(`the reserve script answered ${kind}`);
  }
}

const reserveScript = defineScript(`${luaKeyNames}${luaBudget}
local nowMs, reservationId, leaseUntilMs = tonumber(ARGV[2]), ARGV[3], ARGV[4]
local chargeOnly, repeatAt, receivedAtMs = ARGV[5] == '1', tonumber(ARGV[6]), tonumber(ARGV[7])
local makerCount = tonumber(ARGV[8])
local nowSeconds = math.floor(nowMs / 1000)

local makers = {}
for i = 1, makerCount do
  local at = 4 + 5 * i
  makers[i] = {
    maker = ARGV[at], partition = ARGV[at + 1],
    rate = tonumber(ARGV[at + 2]), burst = tonumber(ARGV[at + 3]), openMax = tonumber(ARGV[at + 4]),
    hashes = {}, at = {}, seen = {}
  }
end
local hints, hintNames, absent, orderCount = {}, {}, {}, 0
for maker, hash, expires, salt in string.gmatch(ARGV[9 + 5 * makerCount], '(%d+) (%w+) (%d+) (%w+);') do
  local m = makers[tonumber(maker)]
  local n = #m.hashes + 1
  m.hashes[n], m.at[n] = hash, orderCount
  m.seen[2 * n - 1], m.seen[2 * n] = expires, hash
  orderCount = orderCount + 1
  hints[orderCount] = { hash, m, salt, expires }
  hintNames[orderCount] = key('h', hash)
  absent[orderCount] = key('a', hash)
end

local remaining, cold = {}, {}
local function answer(kind, index, figure) return { kind, index, figure, remaining, cold } end

-- The rate limit: order by order against each maker's budget, charged for all makers or for none.
local refusal, refusedAt, figure = nil, nil, 0
for i, m in ipairs(makers) do
  m.tokens = budgetAt(key('b', m.maker), nowMs, m.rate, m.burst)
  remaining[i] = math.floor(m.tokens)
  local count, at, kind, retryMs = #m.hashes, nil, nil, 0
  if count > m.burst then
    kind, at = 'over_budget', m.at[m.burst + 1]
  elseif m.tokens + 0.00001 < count then
    kind, at, retryMs = 'rate_limited', m.at[math.floor(m.tokens + 0.00001) + 1], math.ceil((count - m.tokens) * 1000 / m.rate)
  end
  if at and (not refusedAt or at < refusedAt) then refusal, refusedAt, figure = kind, at, retryMs end
end
if refusal then return answer(refusal, refusedAt, figure) end

local function charge()
  for i, m in ipairs(makers) do
    local left = math.max(0, m.tokens - #m.hashes)
    setBudget(key('b', m.maker), left, nowMs, m.rate, m.burst)
    remaining[i] = math.floor(left)
  end
end
if chargeOnly then
  charge()
  return answer('charged', 0, 0)
end

-- A maker is cold until it was loaded, and again when a lease ran out without an outcome.
for i, m in ipairs(makers) do
  m.epoch = redis.call('HGET', key('p', m.partition), 'epoch')
  local isCold = not m.epoch or redis.call('HEXISTS', key('r', m.epoch, m.maker), 'ready') == 0
  m.underWay = redis.call('HVALS', key('w', m.maker))
  for _, lease in ipairs(m.underWay) do
    if tonumber(string.match(lease, '^%d+')) <= nowMs then isCold = true end
  end
  if isCold then cold[#cold + 1] = i - 1 end
end
if #cold > 0 then return answer('cold', 0, 0) end
local lostAtMs = string.match(redis.call('GET', prefix .. 'since') or '', ':(%d+)$')
if lostAtMs and receivedAtMs <= tonumber(lostAtMs) then return answer('emptied', 0, 0) end

-- Duplicates: within the request, or ever accepted, or reserved; or cancelled while an attempt to place it failed.
local duplicateAt = repeatAt >= 0 and repeatAt or nil
local duplicateOf = nil
for _, m in ipairs(makers) do
  local scores = redis.call('ZMSCORE', key('s', m.epoch, m.maker), unpack(m.hashes))
  for n, score in ipairs(scores) do
    if score and (not duplicateAt or m.at[n] < duplicateAt) then
      duplicateAt, duplicateOf = m.at[n], { m.hashes[n], m.underWay }
    end
  end
end
for i, hint in ipairs(redis.call('MGET', unpack(hintNames))) do
  if hint == '-' and (not duplicateAt or i - 1 < duplicateAt) then duplicateAt, duplicateOf = i - 1, nil end
end
if duplicateAt then
  if duplicateOf then
    for _, lease in ipairs(duplicateOf[2]) do
      if string.find(lease, duplicateOf[1], 1, true) then return answer('under_way', duplicateAt, 0) end
    end
  end
  charge()
  return answer('duplicate', duplicateAt, 0)
end

charge()
for i, absentAtMs in ipairs(redis.call('MGET', unpack(absent))) do
  if absentAtMs and tonumber(absentAtMs) >= receivedAtMs then return answer('cancelled', i - 1, 0) end
end
local tooManyAt, openOrders = nil, 0
for _, m in ipairs(makers) do
  local open = redis.call('ZCOUNT', key('o', m.epoch, m.maker), '(' .. string.format('%.0f', nowSeconds), '+inf')
  if open + #m.hashes > m.openMax then
    local at = m.at[math.max(1, m.openMax - open + 1)]
    if not tooManyAt or at < tooManyAt then tooManyAt, openOrders = at, open end
  end
end
if tooManyAt then return answer('too_many_open', tooManyAt, openOrders) end

local pruneTo = string.format('%.0f', nowSeconds - ${SEEN_SPARE_SECONDS})
for _, m in ipairs(makers) do
  local seen, open = key('s', m.epoch, m.maker), key('o', m.epoch, m.maker)
  local underWay = key('w', m.maker)
  redis.call('ZREMRANGEBYSCORE', seen, '-inf', pruneTo)
  redis.call('ZREMRANGEBYSCORE', open, '-inf', pruneTo)
  redis.call('ZADD', seen, unpack(m.seen))
  redis.call('ZADD', open, unpack(m.seen))
  redis.call('HSET', underWay, reservationId, leaseUntilMs .. ';' .. m.epoch .. ';' .. table.concat(m.hashes, ','))
  redis.call('EXPIRE', key('r', m.epoch, m.maker), ${DERIVED_TTL_SECONDS})
  for _, name in ipairs({ seen, open, underWay }) do
    redis.call('EXPIRE', name, ${DERIVED_TTL_SECONDS + DERIVED_TTL_SPARE_SECONDS})
  end
end
for _, hint in ipairs(hints) do
  local hash, m, salt, expires = unpack(hint)
  local ttl = math.min(tonumber(expires) - nowSeconds, ${HINT_TTL_SECONDS_MAX})
  redis.call('SET', key('h', hash), hintOf(m.partition, m.epoch, m.maker, salt, expires), 'EX', string.format('%.0f', math.max(1, ttl)))
end
return answer('reserved', 0, 0)
`);
