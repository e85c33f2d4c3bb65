import { afterAll, expect, test } from '@jest/globals';
import type { Hex } from '@makerbook/contracts-primitives';
import { partitionOf } from '@makerbook/kafka';
import { byteaOf } from '@makerbook/postgres';
import { openTestDatabase } from '@makerbook/postgres/testing';
import type { QuerySettings } from './env.js';
import { type ToldParts, tellOperators } from './tell-operators.js';

const PARTITIONS = 12;
const maker: Hex = `0x${'a1'.repeat(20)}`;

const { owner, postgres, close } = await openTestDatabase('query');
afterAll(close);

test('operators see all orders with a salt, even the newest, however long their history', async () => {
  const partition = partitionOf(maker, PARTITIONS);
  const step = `($2::text[])[1 + n % 6]`;
  await owner.query(
    `insert into order_history (partition, log_offset, order_hash, maker, salt, happened, status, reason, remaining)
     select ${partition}, n, decode(lpad(to_hex(n / 6), 64, '0'), 'hex'), $1, case when ${step} = 'OPENED' then '0x7' end,
       ${step}, 'ACTIVE', case when ${step} = 'REMOVED' then 'CANCELLED' end, 9
     from generate_series(0, 5999) as n`,
    [byteaOf(maker), ['OPENED', 'CHANGED', 'CHANGED', 'CHANGED', 'CHANGED', 'REMOVED']],
  );
  await owner.query(
    `insert into projections (partition, next_offset) values ($1, 9999)
     on conflict (partition) do update set next_offset = 9999`,
    [partition],
  );
  const parts = { postgres } as unknown as ToldParts;
  const tell = tellOperators({ PARTITIONS, TOPIC_PREFIX: '' } as QuerySettings, parts);
  const reply = await tell?.(`/makers/${maker}:0x7`);
  const hashes: Hex[] = JSON.parse(String(reply !== undefined && 'body' in reply ? reply.body : '[]'));
  expect([hashes.length, Number(hashes[0]), Number(hashes.at(-1))]).toEqual([1_000, 0, 999]);
});
