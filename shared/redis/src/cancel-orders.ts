import { defineScript, type RedisConnection } from './connect.js';
import { luaKeyNames } from './keys.js';
import { type Budget, luaBudget } from './reserve-orders.js';

type Hex = `0x${string}`;

/**
 * What the cache says of a hash: whose it is and its salt, that it was cancelled, or nothing. `under_way`: a request is
 * appending it right now. A cancellation that came before it in the log would cancel nothing.
 */
export type Hint = { readonly maker: Hex; readonly salt: Hex } | 'cancelled' | 'under_way' | undefined;

/** A cancellation that was answered before the projector saw it is remembered this long where the order had no hint. */
const CANCELLED_HINT_SECONDS = 60;

/** Looks the hashes up, in their order (Interface 4.4). Throws RedisUnavailable. */
export async function findHints(redis: RedisConnection, orderHashes: readonly Hex[], nowMs: number): Promise<Hint[]> {
  const values = (await redis.runScript(findScript, [], [redis.keys.prefix, nowMs, ...orderHashes])) as string[];
  return values.map(readHint);
}

/** What became of a charge: `remaining` is what is left of each maker's budget. */
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
 * before the projector has seen them. Throws RedisUnavailable; the projector does the same a moment later.
 */
export async function noteCancelled(
  redis: RedisConnection,
  orders: readonly { readonly maker: Hex; readonly partition: number; readonly orderHash: Hex }[],
): Promise<void> {
  const args = orders.flatMap(({ maker, partition, orderHash }) => [maker, partition, orderHash]);
  await redis.runScript(cancelledScript, [], [redis.keys.prefix, ...args]);
}

function readHint(value: string): Hint {
  if (value === '') return undefined;
  if (value === '-') return 'cancelled';
  if (value === '+') return 'under_way';
  const [, , maker, salt] = value.split(':');
  return { maker: maker as Hex, salt: salt as Hex };
}

// A hint of an earlier epoch may be of an order whose removal Redis has missed: it says nothing. Nor does one of a request
// that left no word of how it ended.
const findScript = defineScript(`${luaKeyNames}
local nowMs, epochs, leases, found = tonumber(ARGV[2]), {}, {}, {}
for arg = 3, #ARGV do
  local hash = ARGV[arg]
  local hint = redis.call('GET', key('h', hash)) or ''
  local partition, epoch, maker = string.match(hint, '^(%d+):([^:]+):([^:]+):')
  if partition then
    epochs[partition] = epochs[partition] or redis.call('HGET', key('p', partition), 'epoch') or ''
    if epochs[partition] ~= epoch then
      hint = ''
    else
      leases[maker] = leases[maker] or redis.call('HVALS', key('w', epoch, maker))
      for _, lease in ipairs(leases[maker]) do
        if string.find(lease, hash, 1, true) then
          hint = tonumber(string.match(lease, '^%d+')) > nowMs and '+' or ''
        end
      end
    end
  end
  found[arg - 2] = hint
end
return found
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

const cancelledScript = defineScript(`${luaKeyNames}
for arg = 2, #ARGV, 3 do
  local maker, hash = ARGV[arg], ARGV[arg + 2]
  local epoch = redis.call('HGET', key('p', ARGV[arg + 1]), 'epoch')
  if epoch then redis.call('ZREM', key('o', epoch, maker), hash) end
  if not redis.call('SET', key('h', hash), '-', 'KEEPTTL', 'XX') then
    redis.call('SET', key('h', hash), '-', 'EX', ${CANCELLED_HINT_SECONDS})
  end
end
return 1
`);
