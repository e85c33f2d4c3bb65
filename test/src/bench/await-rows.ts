import { setTimeout as pause } from 'node:timers/promises';
import type { Postgres } from '@makerbook/postgres';
import type { Services } from '../kit/run-services.js';

const POLL_MS = 20;
const FOLDED_MS_MAX = 1_800_000;

/** Waits until the rows hold more than that many facts. @returns how many they hold. @throws if a service ends */
export async function foldedBeyond(facts: number, postgres: Postgres, services: Services): Promise<number> {
  const deadline = performance.now() + FOLDED_MS_MAX;
  for (;;) {
    const [row] = await postgres.query<{ done: string | null }>(
      'select sum(next_offset)::text as done from projections',
    );
    if (Number(row?.done) > facts) return Number(row?.done);
    services.assertAlive();
    if (performance.now() > deadline) throw new Error(`only ${row?.done} facts are projected`);
    await pause(POLL_MS);
  }
}
