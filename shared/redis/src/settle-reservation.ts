import type { Hex } from '@makerbook/contracts-primitives';
import { defineScript, type RedisConnection } from './connect.js';
import { luaKeyNames } from './keys.js';
import type { ReservedAt } from './reserve-orders.js';

/**
 * The outcome of the append of a reserved request.
 * - `appended`: the orders are stored; they stay.
 * - `not_appended`: nothing was stored; the orders are released, except those that were cancelled meanwhile: the log
 *   holds their cancellation, so that they can never be placed.
 * - `unknown`: they may have been stored, and a DELETE can still cancel them. The maker's next request resolves it by Postgres.
 */
export type Settlement = 'appended' | 'not_appended' | 'unknown';

/**
 * Ends a reservation that `reserveOrders` has made. A reservation that is no longer there (Redis was flushed, its lease
 * ran out) is left alone. Throws RedisUnavailable: the reservation heals by itself once its lease has run out.
 */
export async function settleReservation(
  redis: RedisConnection,
  reservationId: string,
  at: readonly ReservedAt[],
  settlement: Settlement,
): Promise<void> {
  const { keys } = redis;
  if (settlement === 'appended') {
    await Promise.all(
      at.map(({ epoch, maker }) => redis.attempt((client) => client.hdel(keys.underWay(epoch, maker), reservationId))),
    );
    return;
  }
  const args = [keys.prefix, reservationId, settlement, ...at.flatMap(({ epoch, maker }) => [epoch, maker])];
  await redis.runScript(settleScript, [], args);
}

/**
 * Releases the reservation of an attempt whose reply was lost, under the present epochs of the makers' partitions.
 * Throws RedisUnavailable.
 */
export async function releaseLost(
  redis: RedisConnection,
  reservationId: string,
  makers: readonly { readonly maker: Hex; readonly partition: number }[],
): Promise<void> {
  const epochs = await Promise.all(
    makers.map(({ partition }) => redis.attempt((client) => client.hget(redis.keys.partition(partition), 'epoch'))),
  );
  const at = makers.flatMap(({ maker }, index) => {
    const epoch = epochs[index];
    return epoch === null || epoch === undefined ? [] : [{ maker, epoch }];
  });
  if (at.length > 0) await settleReservation(redis, reservationId, at, 'not_appended');
}

const settleScript = defineScript(`${luaKeyNames}
local reservationId, settlement = ARGV[2], ARGV[3]
for arg = 4, #ARGV, 2 do
  local epoch, maker = ARGV[arg], ARGV[arg + 1]
  local underWay = key('w', epoch, maker)
  local lease = redis.call('HGET', underWay, reservationId)
  if lease then
    if settlement == 'unknown' then
      redis.call('HSET', underWay, reservationId, (string.gsub(lease, '^%d+', '0')))
    else
      for hash in string.gmatch(string.match(lease, ';(.*)'), '[^,]+') do
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
