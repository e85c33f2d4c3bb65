import type { Hex } from '@makerbook/contracts-primitives';
import { defineScript, type RedisConnection } from './connect.js';
import { DERIVED_TTL_SECONDS, DERIVED_TTL_SPARE_SECONDS, luaKeyNames, luaSince } from './keys.js';

/** A hash of the maker that was accepted once, from the read model. */
export interface AcceptedHash {
  readonly orderHash: Hex;
  readonly expiresAtSeconds: number;
  readonly isOpen: boolean;
}

export interface MakerToLoad {
  readonly maker: Hex;
  readonly partition: number;
  /** Names this loading: of two at once, the later takes over. Never used twice. */
  readonly loadId: string;
}

/** How many hashes one script call takes: Redis serves nobody else meanwhile. */
const HASHES_PER_CALL_MAX = 2000;

/** A loading that has not come to its end after this time is taken over. */
const LOADING_MS_MAX = 3000;

/**
 * Begins to load a cold maker. From here until `finishLoading` the maker is cold for everyone; what other requests
 * have under way is kept; leases that ran out are dropped, because the read model decides their outcome. The hints of
 * those orders stay: they may still reach the log, and a DELETE must find them then. Nothing is begun while the maker has
 * anything under way of an earlier epoch, so one that is warm has nothing of these.
 * Read the end of the log and the accepted hashes of the read model only after this call.
 * @returns the epoch to be loaded; `warm` when there is nothing to do; `later` while another request loads the maker, while it
 * has anything under way of an earlier epoch, or while Redis has no position of the partition
 */
export async function beginLoading(
  redis: RedisConnection,
  { maker, partition, loadId }: MakerToLoad,
  nowMs: number,
): Promise<{ readonly epoch: string } | 'warm' | 'later'> {
  const args = [redis.keys.prefix, partition, maker, loadId, nowMs];
  const [state, epoch] = (await redis.runScript(beginScript, [], args)) as ['begun' | 'warm' | 'later', string];
  return state === 'begun' ? { epoch } : state;
}

/**
 * Hands over what the read model knew of the maker at `position`, in one snapshot, and makes the maker warm.
 * - `overtaken`: Redis reflects a newer position than the snapshot: take a newer one.
 * - `superseded`: flushed, a new epoch, or loaded by another: check again whether the maker is still cold.
 */
export async function finishLoading(
  redis: RedisConnection,
  { maker, partition, loadId }: MakerToLoad,
  epoch: string,
  position: bigint,
  accepted: readonly AcceptedHash[],
): Promise<'warm' | 'overtaken' | 'superseded'> {
  const names = [redis.keys.prefix, partition, maker, loadId, epoch];
  for (let from = 0; from < accepted.length; from += HASHES_PER_CALL_MAX) {
    const chunk = accepted.slice(from, from + HASHES_PER_CALL_MAX);
    const args = chunk.flatMap(({ orderHash, expiresAtSeconds, isOpen }) => [
      orderHash,
      expiresAtSeconds,
      isOpen ? 1 : 0,
    ]);
    if ((await redis.runScript(addScript, [], [...names, ...args])) !== 1) return 'superseded';
  }
  const outcome = await redis.runScript(finishScript, [], [...names, String(position)]);
  if (outcome === 'warm' || outcome === 'overtaken') return outcome;
  return 'superseded';
}

const luaExpire = `
local function expire(epoch, maker)
  redis.call('EXPIRE', key('r', epoch, maker), ${DERIVED_TTL_SECONDS})
  for _, name in ipairs({ key('s', epoch, maker), key('o', epoch, maker), key('w', maker) }) do
    redis.call('EXPIRE', name, ${DERIVED_TTL_SECONDS + DERIVED_TTL_SPARE_SECONDS})
  end
end
`;

const beginScript = defineScript(`${luaKeyNames}${luaSince}${luaExpire}
local partition, maker, loadId, nowMs = ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])
local epoch = redis.call('HGET', key('p', partition), 'epoch')
if not epoch then
  since(ARGV[5])
  return { 'later', '' }
end
local ready, seen, open = key('r', epoch, maker), key('s', epoch, maker), key('o', epoch, maker)
local underWay = key('w', maker)

local ended, kept, isLate = {}, {}, false
local leases = redis.call('HGETALL', underWay)
for i = 1, #leases, 2 do
  local untilMs, madeIn, hashes = string.match(leases[i + 1], '^(%d+);([^;]*);(.*)')
  if tonumber(untilMs) <= nowMs then ended[#ended + 1] = leases[i]
  elseif madeIn ~= epoch then isLate = true
  else
    for hash in string.gmatch(hashes, '[^,]+') do
      local score = redis.call('ZSCORE', seen, hash)
      if score then kept[#kept + 1], kept[#kept + 2] = score, hash end
    end
  end
end
local state = redis.call('HMGET', ready, 'ready', 'loading', 'sinceMs')
if state[1] and #ended == 0 then return { 'warm', '' } end
local isLoading = state[2] and state[2] ~= loadId and tonumber(state[3]) > nowMs - ${LOADING_MS_MAX}
if isLoading or isLate then return { 'later', '' } end

for _, id in ipairs(ended) do redis.call('HDEL', underWay, id) end
redis.call('DEL', seen, open, ready)
for i = 1, #kept, 2 do
  redis.call('ZADD', seen, kept[i], kept[i + 1])
  redis.call('ZADD', open, kept[i], kept[i + 1])
end
redis.call('HSET', ready, 'loading', loadId, 'sinceMs', ARGV[5])
expire(epoch, maker)
return { 'begun', epoch }
`);

const luaStillLoading = `
local partition, maker, loadId, epoch = ARGV[2], ARGV[3], ARGV[4], ARGV[5]
if redis.call('HGET', key('p', partition), 'epoch') ~= epoch then return 'superseded' end
if redis.call('HGET', key('r', epoch, maker), 'loading') ~= loadId then return 'superseded' end
`;

// What is known of a hash only grows: adding is harmless whatever happens before the maker is warm.
const addScript = defineScript(`${luaKeyNames}${luaStillLoading}
local seen, open = key('s', epoch, maker), key('o', epoch, maker)
for arg = 6, #ARGV, 3 do
  redis.call('ZADD', seen, ARGV[arg + 1], ARGV[arg])
  if ARGV[arg + 2] == '1' then redis.call('ZADD', open, ARGV[arg + 1], ARGV[arg])
  else redis.call('ZREM', open, ARGV[arg]) end
end
return 1
`);

// `next` is set while a batch is sent in several calls: some of it is applied already. Positions are compared as
// decimal strings, exact at any size.
const finishScript = defineScript(`${luaKeyNames}${luaExpire}${luaStillLoading}
local state, snapshot = redis.call('HMGET', key('p', partition), 'pos', 'next'), ARGV[6]
local pos = state[2] or state[1] or '0'
if #pos > #snapshot or (#pos == #snapshot and pos > snapshot) then return 'overtaken' end
local ready = key('r', epoch, maker)
redis.call('HDEL', ready, 'loading', 'sinceMs')
redis.call('HSET', ready, 'ready', '1')
expire(epoch, maker)
return 'warm'
`);
