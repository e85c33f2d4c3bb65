import {
  type Cause,
  encodeMakerEvent,
  holdCause,
  type MakerEvent,
  type MakerFact,
  servicePartition,
} from '@makerbook/contracts-events';
import type { Address } from '@makerbook/contracts-primitives';
import { factOfInstruction, factsBeyond, type Maker } from '@makerbook/domain';
import { type Appender, RESTORED_HEADER, type TopicPartition } from '@makerbook/kafka';
import { migrate, type Postgres } from '@makerbook/postgres';
import { makersFromRows } from '../fold/makers-from-rows.js';
import { readMakers, readProjection } from '../store/open-store.js';
import { readGone, readLost, readMakerNames, readPending } from '../store/read-kept.js';
import { LIVE_SCHEMA, type Rebuild, type RebuildOptions, replay, SCHEMA, withReplay } from './rebuild-read-model.js';

/** More offsets than a log gains while its archive and its rows are behind. */
const OFFSETS_SKIPPED = 100_000n;
const MAKERS_AT_ONCE = 100;
const FACTS_AT_ONCE = 200;
const SOURCE = '/makerbook/salvage';
const TIMEOUT_MS = 60_000;
const schemas = { kept: LIVE_SCHEMA, restored: SCHEMA };

/** The clock and the command's id, from the process. */
export interface SalvageContext {
  /** Names the command in its facts. */
  readonly commandId: string;
  readonly unixMs: () => number;
}

/**
 * Completes a log that was restored from an archive, while no service runs. Skips every offset that a client or router
 * may have been told, and appends the facts that kept rows have beyond the log. Then suspends all admitted makers, and
 * sets the service to CANCEL_ONLY, so that makers can repeat lost cancellations. It can be repeated.
 * @returns orders that are lost, as far as the rows name them, and what was appended
 * @throws Error if the log was not restored; LogUnavailable, PostgresUnavailable
 */
export async function salvage(options: RebuildOptions, context: SalvageContext): Promise<string[]> {
  // If Postgres is lost too, its database is empty.
  await migrate(options.database);
  return withReplay(options, async (rebuild) => {
    const { log, live, topics } = rebuild;
    const ends = await log.endOffsets(topics.makerEvents, { timeoutMs: TIMEOUT_MS });
    await requireRestored(rebuild, ends);
    await replay(rebuild, ends, true);
    const kept = await Promise.all(
      ends.map(async (_, partition) => (await readProjection(live, partition)).nextOffset),
    );
    await Promise.all(ends.map((end, partition) => skipTold(rebuild, partition, end, kept[partition] ?? 0n)));
    const appender = log.createAppender({ timeoutMs: TIMEOUT_MS });
    const writer = new FactWriter(appender, topics.makerEvents, context);
    const lost: string[] = [];
    for (const [partition, position] of kept.entries()) {
      await salvagePartition(rebuild, partition, position, writer);
      lost.push(...(await readLost(live, partition, schemas)));
    }
    await writer.append(servicePartition, [{ type: 'ServiceModeSet', mode: 'CANCEL_ONLY', cause: writer.hold }]);
    await appender.close();
    return [...lost, `appended: ${[...writer.counts].map(([type, count]) => `${count} ${type}`).join(', ')}`];
  });
}

/** @throws Error if the log was not restored from an archive */
async function requireRestored({ log, topics }: Rebuild, ends: readonly bigint[]): Promise<void> {
  for (const [partition, end] of ends.entries()) {
    for await (const { records } of log.readRange({ topic: topics.makerEvents, partition }, 0n, end)) {
      const [first] = records;
      if (first?.headers[RESTORED_HEADER] !== undefined) return;
      if (first !== undefined) break;
    }
  }
  throw new Error('the log was not restored from an archive: nothing was written');
}

/**
 * Moves the end of a partition behind every position that anybody may have been told.
 * @param kept the position of the kept rows
 */
async function skipTold({ log, topics }: Rebuild, partition: number, end: bigint, kept: bigint): Promise<void> {
  const offsets = (kept > end ? kept - end : 0n) + OFFSETS_SKIPPED;
  const place = { topic: topics.makerEvents, partition };
  await log.skipOffsets(place, Number(offsets), `makerbook-operator-salvage-${partition}`);
}

async function salvagePartition(rebuild: Rebuild, partition: number, kept: bigint, writer: FactWriter): Promise<void> {
  const { live, postgres, topics } = rebuild;
  const place = { topic: topics.makerEvents, partition };
  const isNewer = !(await hasFactsFrom(rebuild, place, kept));
  const makers = await readMakerNames(live, partition, schemas);
  for (let at = 0; at < makers.length; at += MAKERS_AT_ONCE) {
    const some = makers.slice(at, at + MAKERS_AT_ONCE);
    const restored = await makersOf(postgres, partition, some);
    for (const [index, one] of (await makersOf(live, partition, some)).entries()) {
      await writer.append(partition, factsOf(one, restored[index] as Maker, isNewer, writer));
    }
  }
  for (const { maker, instruction } of await readPending(live, partition)) {
    await writer.append(partition, [factOfInstruction(maker, instruction, writer.cause)]);
  }
  await live.transaction(async (query) => {
    for await (const hashes of readGone(query, partition, schemas)) {
      const { cause } = writer;
      await writer.append(
        partition,
        hashes.map((hash) => ({ type: 'OrderCancelled', ...hash, cause })),
      );
    }
  });
}

/** An admitted maker is suspended until an operator ends the time of cancellations. */
function factsOf(kept: Maker, restored: Maker, isNewer: boolean, { cause, hold }: FactWriter): MakerFact[] {
  const isAdmitted = (isNewer ? kept : restored).admission === 'ADMITTED';
  const held: MakerFact[] = isAdmitted ? [{ type: 'MakerSuspended', maker: kept.maker, cause: hold }] : [];
  return [...held, ...factsBeyond(kept, restored, isNewer, cause)];
}

async function makersOf(postgres: Postgres, partition: number, makers: readonly Address[]): Promise<Maker[]> {
  return makersFromRows(partition, makers, await readMakers(postgres, partition, makers));
}

/** True if the archive had facts from the offset on. */
async function hasFactsFrom({ log }: Pick<Rebuild, 'log'>, place: TopicPartition, offset: bigint): Promise<boolean> {
  for await (const { records } of log.readRange(place, offset)) {
    if (records.some(({ headers }) => headers['ce_source'] !== SOURCE)) return true;
  }
  return false;
}

/** Appends facts of makers, in order. */
class FactWriter {
  readonly cause: Cause;
  readonly hold: Cause;
  readonly counts = new Map<string, number>();
  readonly #appender: Appender;
  readonly #topic: string;
  readonly #context: SalvageContext;
  #written = 0;

  constructor(appender: Appender, topic: string, context: SalvageContext) {
    this.#appender = appender;
    this.#topic = topic;
    this.#context = context;
    this.cause = { kind: 'operator', commandId: context.commandId, by: 'salvage' };
    this.hold = holdCause(context.commandId);
  }

  async append(partition: number, facts: readonly MakerEvent[]): Promise<void> {
    for (let at = 0; at < facts.length; at += FACTS_AT_ONCE) {
      const some = facts.slice(at, at + FACTS_AT_ONCE);
      await this.#appender.append(some.map((fact) => this.#recordOf(partition, fact)));
      for (const { type } of some) this.counts.set(type, (this.counts.get(type) ?? 0) + 1);
    }
  }

  #recordOf(partition: number, fact: MakerEvent) {
    const { commandId, unixMs } = this.#context;
    const context = { id: `${commandId}:${this.#written}`, source: SOURCE, timeMs: unixMs() };
    this.#written += 1;
    const { key, value, headers } = encodeMakerEvent(fact, context);
    return { topic: this.#topic, partition, key: key ?? '', value, headers };
  }
}
