import { topicNames } from '@makerbook/contracts-events';
import type { StoredRecord } from '@makerbook/kafka';
import { LogInMemory } from '@makerbook/kafka/testing';
import { type Calm, Life, Requests, VirtualTime } from '@makerbook/parts';
import type { LoggedFact } from '../../fold/read-facts.js';
import type { Projector } from '../../own/project-log.js';
import {
  createTestProjector,
  testPartition as partition,
  testPartitions as partitions,
} from '../create-test-projector.js';
import { blockAt, orderOf, storedRecord } from '../generate-facts.js';
import { consumePartition, type Holder } from './consume-partition.js';
import { noTables, RowsInMemory, type Tables } from './hold-rows.js';
import { InFlightJudge } from './judge-in-flight.js';
import { judgeBook, judgeFeeds, judgeOrder, judgeRows } from './judge-run.js';
import type { Action, Plan } from './plan-run.js';
import { Replay } from './replay-log.js';

export interface RunOptions {
  /** Called with a line for each step. */
  readonly onLine?: (line: string) => void;
  /** What a planted defect makes of a fact that was read. */
  readonly mangle?: (fact: LoggedFact) => LoggedFact;
  /** What a planted defect does to a projector that has just taken the partition. */
  readonly onTaken?: (projector: Projector) => void;
}

export interface RunReport {
  readonly wrong: readonly string[];
  readonly facts: number;
  readonly commits: number;
  readonly processes: number;
  readonly takes: number;
  readonly quarantines: number;
}

const topics = topicNames();
/** In virtual time; until then the rows have to be at the end of the log once nothing fails any more. */
const QUIET_MS = 120_000;

/** Runs a plan. The same one does the same again. */
export async function runPlan(plan: Plan, options: RunOptions = {}): Promise<RunReport> {
  const run = new Run(plan, options);
  await run.time.runUntil(run.live());
  return run.judge();
}

class Run {
  readonly time = new VirtualTime(0);
  readonly #plan: Plan;
  readonly #options: RunOptions;
  readonly #stream: readonly StoredRecord[];
  readonly #replay: Replay;
  readonly #log = new LogInMemory({ partitions, nowMs: () => this.time.nowMs });
  readonly #rows = new RowsInMemory(() => this.#onCommit());
  readonly #calm: Calm = { isCalm: false };
  readonly #holders: Holder[] = [];
  readonly #wrong: string[] = [];
  readonly #parked = new Set<string>();
  readonly #inFlight: InFlightJudge;
  #backup = this.#rows.tables;
  readonly #sums = { commits: 0, processes: 0, takes: 0 };

  constructor(plan: Plan, options: RunOptions) {
    this.#plan = plan;
    this.#options = options;
    this.#stream = streamOf(plan);
    this.#replay = new Replay(this.#stream, partition, 60);
    this.#inFlight = new InFlightJudge(this.#rows, this.#stream);
  }

  async live(): Promise<void> {
    const { actions } = this.#plan;
    let appended = 0;
    for (const [index, action] of actions.filter((one) => one.do === 'append').entries()) {
      this.#writeBefore(action, this.#stream[index]?.offset);
    }
    for (const action of actions) {
      this.time.after(action.atMs, () => {
        if (action.do === 'append') {
          this.#append(appended);
          appended += 1;
        } else this.#take(action);
      });
    }
    await this.time.wait((actions.at(-1)?.atMs ?? 0) + 10_000);
    this.#note(() => 'from now on nothing fails');
    this.#calm.isCalm = true;
    this.#rows.isAway = false;
    this.#start(1);
    for (; appended < this.#stream.length; appended += 1) {
      this.#append(appended);
      await this.time.wait(2_000);
    }
    for (let left = QUIET_MS / 1000; left > 0 && !this.#isDone(); left -= 1) await this.time.wait(1000);
    for (const { life } of this.#holders) life.kill();
  }

  judge(): RunReport {
    const { published } = this.#log;
    const replay = this.#replay;
    const wrong = [...this.#wrong, ...judgeOrder(published)];
    if (!this.#isDone())
      wrong.push(
        `the rows are at ${this.#rows.tables.projection.nextOffset}, the log ends at ${this.#log.end(topics.makerEvents, partition)}`,
      );
    wrong.push(...judgeFeeds(published, replay));
    const parked = (offsets: ReadonlySet<string>) => [...offsets].sort().join(', ');
    if (parked(this.#parked) !== parked(replay.parked)) {
      wrong.push(`parked is ${parked(this.#parked)}, and must be ${parked(replay.parked)}`);
    }
    if (wrong.length === 0) wrong.push(...this.#inFlight.judgeEnd());
    if (wrong.length === 0) wrong.push(...judgeBook(this.#rows.tables, published));
    const quarantines = [...this.#parked].filter((parked) => parked.includes(' ')).length;
    return { wrong, facts: this.#stream.length, quarantines, ...this.#sums };
  }

  #isDone(): boolean {
    return this.#rows.tables.projection.nextOffset === this.#log.end(topics.makerEvents, partition);
  }

  #note(line: () => string): void {
    this.#options.onLine?.(`${this.time.nowMs} ${line()}`);
  }

  #append(index: number): void {
    const record = this.#stream[index];
    if (record === undefined) return;
    this.#note(() => `${record.offset} ${record.headers['ce_type']} ${record.key} ${record.value}`);
    this.#log.put({ ...record, timestampMs: this.time.nowMs });
    this.#inFlight.appended(record, this.time.nowMs);
  }

  /** As ingress does, some time before it appends. */
  #writeBefore({ atMs, beforeMs, endedMs, fact }: Extract<Action, { do: 'append' }>, offset: bigint | undefined): void {
    if (fact?.type !== 'OrderSubmitted' && fact?.type !== 'OrderCancelled') return;
    const { orderHash, maker } = fact;
    this.time.after(Math.max(0, atMs - beforeMs), () => {
      const row = { orderHash, maker, salt: '0x1', expiresAtSeconds: 0, untilMs: atMs + endedMs };
      if (this.#rows.isAway) return;
      if (fact.type === 'OrderSubmitted') this.#inFlight.place(row, offset);
      else this.#inFlight.cancel(row);
    });
  }

  #take(action: Exclude<Action, { do: 'append' }>): void {
    this.#note(() => JSON.stringify(action));
    switch (action.do) {
      case 'start':
        return this.#start(action.draw);
      case 'back up':
        this.#backup = this.#rows.tables;
        return;
      case 'restore':
        return this.#crash(this.#backup);
      case 'empty':
        return this.#crash(noTables);
      case 'prune':
        return this.#rows.prune();
      case 'place':
        return this.#inFlight.place(
          {
            orderHash: orderOf(action.maker, action.number).orderHash,
            maker: action.maker,
            salt: '0x1',
            expiresAtSeconds: 0,
            untilMs: this.time.nowMs + action.endedMs,
          },
          undefined,
        );
      case 'outage':
        this.#rows.isAway = true;
        return this.time.after(action.forMs, () => {
          this.#rows.isAway = false;
        });
      default:
        return this.#disturb(action);
    }
  }

  #crash(tables: Tables): void {
    this.#rows.crash(tables);
    this.#inFlight.lost();
  }

  #disturb(action: Extract<Action, { do: 'kill' | 'stop' | 'freeze' }>): void {
    const holder = this.#holders[action.which % Math.max(1, this.#holders.length)];
    if (holder === undefined) return;
    if (action.do === 'freeze') return holder.life.freeze(action.forMs);
    this.#holders.splice(this.#holders.indexOf(holder), 1);
    if (action.do === 'stop') holder.isStopping = true;
    else holder.life.kill();
  }

  /** The others find out some time later that the partition is no longer theirs. */
  #start(draw: number): void {
    this.#sums.processes += 1;
    const life = new Life(`p${this.#sums.processes}`, this.time);
    const requests = new Requests(draw, life, this.time, this.#calm, this.#plan.hasFaults);
    for (const other of this.#holders) {
      this.time.after(this.#calm.isCalm ? 0 : requests.draws.at(-1, other.life.name).below(3_000), () => {
        other.isStale = true;
      });
    }
    const holder: Holder = { life, isStale: false, isStopping: false };
    this.#holders.push(holder);
    void this.#hold(holder, requests).catch((error: Error) => this.#wrong.push(`${life.name} ends: ${error.stack}`));
  }

  #hold(holder: Holder, requests: Requests): Promise<void> {
    const { mangle } = this.#options;
    const onParked = ({ offset, headers }: StoredRecord) => {
      const maker = headers['parked-maker'];
      this.#parked.add(maker === undefined ? `${offset}` : `${offset} ${maker}`);
    };
    const note = (line: () => string) => this.#note(line);
    const parts = { partition, topic: topics.makerEvents, log: this.#log, requests, onParked, mangle, note };
    return consumePartition(holder, this.#create(requests), parts);
  }

  #create(requests: Requests): Projector {
    const { life } = requests;
    const view = this.#log.connect(requests.sender);
    const projector: Projector = createTestProjector({
      store: this.#rows.connect(requests.sender),
      log: view,
      createFencedPublisher: view.createFencedPublisher,
      topics,
      ...this.#plan.settings,
      meters: {
        taken: () => {
          this.#sums.takes += 1;
          this.#note(() => `${life.name} has taken the partition at ${this.#rows.tables.projection.nextOffset}`);
          this.#options.onTaken?.(projector);
        },
      },
      wait: (ms, signal) => life.wait(ms, signal),
    });
    return projector;
  }

  #onCommit(): void {
    this.#sums.commits += 1;
    const { tables } = this.#rows;
    this.#note(() => `the rows are at ${tables.projection.nextOffset}`);
    if (this.#wrong.length > 0) return;
    this.#wrong.push(...judgeRows(tables, this.#replay, this.#log.published), ...this.#inFlight.judge());
  }
}

/** All that is ever in the log: at the end blocks come. */
function streamOf({ actions }: Plan): StoredRecord[] {
  const facts = actions.flatMap((action) => (action.do === 'append' ? action : []));
  const blocks = facts.flatMap(({ fact }) => (fact !== undefined && 'block' in fact ? fact.block : []));
  const number = Math.max(0, ...blocks.map((block) => block.number)) + 1;
  const seconds = Math.max(1, ...blocks.map((block) => block.timestamp));
  const block = (index: number) => blockAt(number + index, seconds + 10 * index);
  // A commit that failed is noticed with the next fact: there is always another block.
  const last = [0, 1, 2, 3, 4].map(block);
  let offset = -1n;
  return [...facts, ...last.map((fact) => ({ fact, gap: false }))].map(({ fact, gap }) => {
    offset += gap ? 2n : 1n;
    const record = storedRecord(fact ?? block(0), { partition, offset }, Number(offset));
    return fact === undefined ? { ...record, value: Buffer.from('{') } : record;
  });
}
