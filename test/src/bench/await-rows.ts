import { setTimeout as pause } from 'node:timers/promises';
import type { Postgres } from '@makerbook/postgres';
import type { Services } from '../kit/run-services.js';

const POLL_MS = 20;
const COUNT_MS_MAX = 1_800_000;

/** Waits until a count of rows is above that, and returns it. @param assertAlive throws where what makes them has ended */
export async function awaitCount(
  postgres: Postgres,
  sql: string,
  above: number,
  assertAlive: () => void = () => undefined,
): Promise<number> {
  const deadline = performance.now() + COUNT_MS_MAX;
  for (;;) {
    const [row] = await postgres.query<{ count: string | null }>(sql);
    if (Number(row?.count) > above) return Number(row?.count);
    assertAlive();
    if (performance.now() > deadline) throw new Error(`${sql}: it is only ${row?.count}`);
    await pause(POLL_MS);
  }
}

/** Waits until the rows are beyond that many facts, and returns how many they hold. @throws Error where a service ends */
export function foldedBeyond(facts: number, postgres: Postgres, { assertAlive }: Services): Promise<number> {
  return awaitCount(postgres, 'select sum(next_offset)::text as count from projections', facts, assertAlive);
}
