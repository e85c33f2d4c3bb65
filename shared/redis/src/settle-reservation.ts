import type { Hex } from '@makerbook/contracts-primitives';
import { defineScript, type RedisConnection } from './connect.js';
import { luaKeyNames } from './keys.js';

/**
 * The outcome of the append of a reserved request.
 * - `appended`: the orders are stored; they stay.
 * - `not_appended`: nothing was stored; the orders are released, except those that were cancelled meanwhile: the log
 *   holds their cancellation, so that they can never be placed.
 * - `unknown`: they may have been stored, and a DELETE can still cancel them. The maker's next request resolves it by Postgres.
 */
export type Settlement = 'appended' | 'not_appended' | 'unknown';

/**
 * Ends a reservation that `reserveOrders` has made, or may have made. A reservation that is not there (Redis was flushed, its
 * lease ran out) is left alone. Throws RedisUnavailable: the reservation heals by itself once its lease has run out.
 */
export async function settleReservation(
  redis: RedisConnection,
  reservationId: string,
  makers: readonly Hex[],
  settlement: Settlement,
): Promise<void> {
  const { keys } = redis;
  if (settlement === 'appended') {
    await Promise.all(
      makers.map((maker) => redis.attempt((client) => client.hdel(keys.underWay(maker), reservationId))),
    );
    return;
  }
  await redis.runScript(settleScript, [], [keys.prefix, reservationId, settlement, ...makers]);
}

const settleScript = defineScript(`${luaKeyNames}
local reservationId, settlement = ARGV[2], ARGV[3]
for arg = 4, #ARGV do
  local maker = ARGV[arg]
  local underWay = key('w', maker)
  local lease = redis.call('HGET', underWay, reservationId)
  if lease then
    if settlement == 'unknown' then
      redis.call('HSET', underWay, reservationId, (string.gsub(lease, '^%d+', '0')))
    else
      local epoch, hashes = string.match(lease, ';([^;]*);(.*)')
      for hash in string.gmatch(hashes, '[^,]+') do
        redis.call('ZREM', key('s', epoch, maker), hash)
        redis.call('ZREM', key('o', epoch, maker), hash)
        redis.call('DEL', key('h', hash))
      end
      redis.call('HDEL', underWay, reservationId)
    end
  end
end
return 1
`);
