import { setTimeout as pause } from 'node:timers/promises';
import { MakerbookError, type OrderEvent, type OrderHistory } from '@makerbook/client';
import type { Chance } from '@makerbook/parts';
import { readHistory } from '../kit/read-histories.js';
import type { LoadMaker } from './ask-service.js';

export type FollowedStreams = ReturnType<typeof followStreams>;

const STAYS_MS = [500, 20_000] as const;
const AWAY_MS = [0, 3_000] as const;
const TOLD_MS_MAX = 120_000;

/** All that a maker's stream told its clients, over all connections. */
interface Told {
  readonly owner: Pick<LoadMaker, 'address' | 'reader'>;
  /** The id of the first snapshot. */
  begunAt: string | undefined;
  lastId: string | undefined;
  readonly changes: string[];
  readonly wrong: string[];
}

/** Follows the streams of makers with keys that may read for them. The clients leave and come back at random. */
export function followStreams(owners: readonly Told['owner'][], chance: Chance) {
  const stopping = new AbortController();
  const all = owners.map((owner): Told => ({ owner, begunAt: undefined, lastId: undefined, changes: [], wrong: [] }));
  const following = all.map((told) => follow(told, chance, stopping.signal));
  return {
    /** Waits until the streams have told what the histories hold. Names each first difference, and counts changes. */
    async compare(): Promise<{ readonly wrong: readonly string[]; readonly told: number }> {
      const differences = await Promise.all(all.map(compareToHistory));
      stopping.abort();
      await Promise.all(following);
      return { wrong: differences.flat(), told: all.reduce((sum, { changes }) => sum + changes.length, 0) };
    },
    async stop(): Promise<void> {
      stopping.abort();
      await Promise.allSettled(following);
    },
  };
}

async function follow(told: Told, chance: Chance, stopping: AbortSignal): Promise<void> {
  while (!stopping.aborted) {
    const signal = AbortSignal.any([stopping, AbortSignal.timeout(chance.between(...STAYS_MS))]);
    const { lastId } = told;
    const events = told.owner.reader.streamOrders({ signal, ...(lastId !== undefined && { lastEventId: lastId }) });
    try {
      for await (const event of events) note(event, told);
    } catch (error) {
      if (!(error instanceof MakerbookError)) throw error;
    }
    if (!stopping.aborted) await pause(chance.between(...AWAY_MS));
  }
}

function note(event: OrderEvent, told: Told): void {
  if (event.event === 'clock') return;
  if (event.event === 'snapshot') {
    if (told.begunAt !== undefined) told.wrong.push(`a second snapshot, at ${event.id}`);
    told.begunAt ??= event.id;
  } else {
    if (event.after !== told.lastId)
      told.wrong.push(`${event.id} comes behind ${told.lastId}, and says behind ${event.after}`);
    told.changes.push(lineOf(event));
  }
  told.lastId = event.id;
}

async function compareToHistory({ owner, begunAt, changes, wrong }: Told): Promise<string[]> {
  const name = `the stream of ${owner.address}`;
  if (begunAt === undefined) return [`${name} has never begun`];
  const must: string[] = [];
  for await (const entry of readHistory(owner.reader, { cursor: begunAt })) must.push(lineOf(entry));
  const deadline = performance.now() + TOLD_MS_MAX;
  while (changes.length < must.length && performance.now() < deadline) await pause(100);
  const at = must.findIndex((line, index) => line !== changes[index]);
  const first = at >= 0 ? at : changes.length > must.length ? must.length : undefined;
  const differs =
    first === undefined ? [] : [`${name}: entry ${first} is ${must[first]}, and ${changes[first]} was told`];
  return [...wrong.map((what) => `${name}: ${what}`), ...differs];
}

function lineOf(entry: OrderHistory['entries'][number]): string {
  const { orderHash, happened, position } = entry;
  return `${position} ${orderHash} ${entry.happened === 'FILLED' ? `${happened} ${entry.logIndex}` : `${happened} ${entry.status}`}`;
}
