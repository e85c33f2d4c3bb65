import { decodeMakerEvent, type MakerEvent } from '@makerbook/contracts-events';
import type { Address } from '@makerbook/contracts-primitives';
import type { StoredRecord } from '@makerbook/kafka';
import { LogInMemory } from '@makerbook/kafka/testing';
import { type Calm, createChance, Draws, Life, Requests, VirtualTime } from '@makerbook/parts';
import { drawFaults } from './draw-faults.js';
import { judgeLog, type Verdict } from './judge-log.js';
import { Chain } from './keep-chain.js';
import {
  MAKERS,
  type MakersAtWork,
  nameOf,
  openMakers,
  recordOf,
  type SignedOrder,
  submittedBy,
  unfoldableOf,
} from './place-orders.js';
import type { Action, Plan } from './plan-run.js';
import { Projector } from './project-log.js';
import { runWatcher, TOPICS, type WatcherWorld } from './run-watcher.js';

export interface RunOptions {
  /** What happened, line by line. */
  readonly onLine?: ((line: string) => void) | undefined;
  /** False: it does not matter in which order readings are in the log. */
  readonly checksOrder?: boolean;
}

export interface RunReport extends Verdict {
  readonly blocks: number;
  readonly records: number;
  readonly takeOvers: number;
  /** Watchers that were killed, stopped or frozen. */
  readonly kills: number;
  /** Makers that could not be folded for some time. */
  readonly quarantines: number;
  /** Makers that were suspended or removed for some time. */
  readonly suspensions: number;
  readonly watchers: number;
}

const START_MS = 1_700_000_000_000;
const QUIET_BLOCKS = 45;
const ORDERS_MAX = 35;
const KAFKA_TIMEOUT_MS = 5000;

/**
 * Watchers as they are, in one process, on a chain and a log in memory and on virtual time: orders are posted and deleted,
 * filled, cancelled and funded, makers cannot be folded and are released, makers are suspended and admitted again, watchers are
 * killed, frozen and started, requests are slow and fail, all by the plan. At the end the log is folded and compared with the chain. The same plan does the same
 * again.
 */
export async function runPlan(plan: Plan, options: RunOptions = {}): Promise<RunReport> {
  const run = new Run(plan, options);
  await run.time.runUntil(run.live());
  return run.judge(options);
}

class Run {
  readonly time = new VirtualTime(START_MS);
  private readonly plan: Plan;
  private readonly options: RunOptions;
  private readonly chain = new Chain();
  private readonly log: LogInMemory;
  private readonly makers: MakersAtWork;
  private readonly calm: Calm = { isCalm: false };
  private readonly fatal: Error[] = [];
  private readonly alive: Life[] = [];
  private readonly world: WatcherWorld;
  private readonly projector: Projector;
  private readonly draws: Draws;
  private started = 0;
  private kills = 0;
  private takeOvers = 0;
  private quarantines = 0;
  private suspensions = 0;

  constructor(plan: Plan, options: RunOptions) {
    this.plan = plan;
    this.options = options;
    this.draws = new Draws(plan.seed);
    this.makers = openMakers(this.chain, createChance(plan.seed));
    this.log = new LogInMemory({
      partitions: plan.partitions,
      batchRecordsMax: plan.batchRecordsMax,
      nowMs: () => this.time.nowMs,
      onStored: (records) => this.note(() => `stored ${linesOf(records)}`),
    });
    this.projector = new Projector(this.log, TOPICS, plan.partitions);
    void this.projector.run(this.time, new Draws(plan.seed + 1));
    this.world = {
      chain: this.chain,
      settings: plan.settings,
      note: (line) => this.note(line),
      onFatal: (error) => this.fatal.push(error),
      onTakeOver: () => {
        this.takeOvers += 1;
      },
    };
    this.note(() => JSON.stringify({ ...plan, actions: plan.actions.length }));
  }

  async live(): Promise<void> {
    for (const action of this.plan.actions) this.time.after(action.atMs, () => this.take(action));
    await this.time.wait(this.plan.quietAtMs);
    this.calm.isCalm = true;
    this.note(() => 'from now on nothing happens');
    if (this.alive.length === 0) this.start(1);
    for (let left = QUIET_BLOCKS; left > 0; left -= 1) {
      await this.time.wait(2000);
      this.mine([]);
    }
    await this.time.wait(12_000);
    for (const life of this.alive) life.kill();
  }

  judge({ checksOrder = true }: RunOptions): RunReport {
    const { settings, isSteady, partitions: count } = this.plan;
    const partitions = Array.from({ length: count }, (_, one) => this.log.records(TOPICS.makerEvents, one));
    const verdict = judgeLog({
      chain: this.chain,
      orders: this.makers.orders,
      partitions,
      isSteady: isSteady && settings.CATCH_UP_BLOCKS_MAX >= 100 && settings.STATE_BLOCKS_MAX >= 50,
      isInOrder: checksOrder,
      isSwept: settings.SWEEP_PAIRS_PER_SECOND > 0,
    });
    return {
      ...verdict,
      wrong: [...this.fatal.map((error) => `a watcher ended: ${error.stack}`), ...verdict.wrong],
      blocks: this.chain.head.header.number,
      records: partitions.flat().length,
      takeOvers: this.takeOvers,
      kills: this.kills,
      quarantines: this.quarantines,
      suspensions: this.suspensions,
      watchers: this.started,
    };
  }

  private note(line: () => string): void {
    this.options.onLine?.(`${((this.time.nowMs - START_MS) / 1000).toFixed(3)} ${line()}`);
  }

  private take(action: Action): void {
    switch (action.do) {
      case 'mine':
        return this.mine(action.acts);
      case 'visit':
        return this.visit(action.draw);
      case 'start':
        return this.start(action.draw);
      case 'quarantine':
        return this.quarantine(MAKERS[action.maker] ?? MAKERS[0], action.forMs);
      case 'suspend':
        return this.suspend(action);
      default:
        return this.disturb(action);
    }
  }

  private mine(acts: readonly number[]): void {
    const done = acts.map((seed) => this.makers.act(createChance(seed))).filter((text) => text !== undefined);
    const { header } = this.chain.mine(Math.floor(this.time.nowMs / 1000));
    this.note(() => `block ${header.number} at ${header.timestamp - START_MS / 1000}: ${done.join('; ')}`);
  }

  private start(draw: number): void {
    this.started += 1;
    const life = new Life(`w${this.started}`, this.time);
    this.note(() => `${life.name} starts`);
    this.alive.push(life);
    const faults = drawFaults(draw, () => this.time.nowMs, this.calm, this.plan.hasFaults);
    const requests = new Requests(draw, life, this.time, this.calm, this.plan.hasFaults);
    runWatcher(life, faults, this.world, {
      log: this.log.connect((what, serve, failure) =>
        requests.send(what, serve, failure, { timeoutMs: KAFKA_TIMEOUT_MS }),
      ),
      loadOrders: async (onOrders) => {
        await life.delay(faults.nodeMs());
        return this.projector.snapshot(onOrders);
      },
    });
  }

  private disturb(action: Extract<Action, { do: 'kill' | 'stop' | 'freeze' }>): void {
    const life = this.alive[action.which % Math.max(1, this.alive.length)];
    if (life === undefined) return;
    this.kills += 1;
    this.note(() => `${action.do} ${life.name}`);
    if (action.do === 'freeze') return life.freeze(action.forMs);
    this.alive.splice(this.alive.indexOf(life), 1);
    if (action.do === 'kill') life.kill();
    else life.stop(action.withinMs);
  }

  private visit(draw: number): void {
    const chance = createChance(draw);
    const { orders } = this.makers;
    const unposted = chance.pickAny(orders.filter(({ isPosted }) => !isPosted));
    if (unposted !== undefined && chance.oneIn(3)) return this.post(unposted);
    const posted = chance.pickAny(orders.filter(({ isPosted }) => isPosted));
    if (posted !== undefined && chance.oneIn(8)) return this.delete(posted);
    if (orders.length >= ORDERS_MAX) return;
    const order = this.makers.sign(chance, Math.floor(this.time.nowMs / 1000));
    this.note(() => `${order.label} is signed: ${order.amount} of ${nameOf(order.token)}, nonce ${order.nonce}`);
    if (!chance.oneIn(4)) this.post(order);
  }

  private suspend({ maker: index, isRemoved, forMs }: Extract<Action, { do: 'suspend' }>): void {
    const maker = MAKERS[index] ?? MAKERS[0];
    const cause = { kind: 'operator', commandId: 'decision' } as const;
    const store = (type: 'MakerSuspended' | 'MakerRemoved' | 'MakerAdmitted') =>
      this.log.store([recordOf(TOPICS.makerEvents, this.plan.partitions, { type, maker, cause })]);
    this.suspensions += 1;
    this.note(() => `${nameOf(maker)} is suspended for ${forMs} ms`);
    store(isRemoved ? 'MakerRemoved' : 'MakerSuspended');
    this.time.after(forMs, () => store('MakerAdmitted'));
  }

  /** An order is in the log that the projector cannot fold. An operator releases its maker once the cause is mended. */
  private quarantine(maker: Address, forMs: number): void {
    const store = (fact: Parameters<typeof recordOf>[2]) =>
      this.log.store([recordOf(TOPICS.makerEvents, this.plan.partitions, fact)]);
    this.quarantines += 1;
    this.note(() => `${nameOf(maker)} cannot be folded for ${forMs} ms`);
    store(unfoldableOf(maker, this.quarantines, this.time.nowMs));
    const cause = { kind: 'operator', commandId: 'release' } as const;
    this.time.after(forMs, () => store({ type: 'QuarantineLifted', maker, cause }));
  }

  private post(order: SignedOrder): void {
    const chance = this.draws.at(this.time.nowMs, 'post');
    const record = recordOf(TOPICS.makerEvents, this.plan.partitions, submittedBy(order, this.time.nowMs));
    const store = () => this.log.store([record]);
    this.time.after(chance.below(60), () => {
      order.isPosted = true;
      store();
    });
    if (chance.oneIn(15)) this.time.after(chance.below(9000), store);
  }

  private delete({ maker, hash }: SignedOrder): void {
    const cause = { kind: 'request', requestId: 'DELETE' } as const;
    const fact = { type: 'OrderCancelled', maker, orderHash: hash, expiresAtSeconds: 4_000_000_000, cause } as const;
    const record = recordOf(TOPICS.makerEvents, this.plan.partitions, fact);
    const afterMs = this.draws.at(this.time.nowMs, 'delete').below(60);
    this.time.after(afterMs, () => this.log.store([record]));
  }
}

function linesOf(records: readonly StoredRecord[]): string {
  return records.map((record) => `\n    ${record.partition}/${record.offset} ${lineOf(record)}`).join('');
}

function lineOf(record: StoredRecord): string {
  if (record.topic !== TOPICS.makerEvents) return `tombstone of ${Number(record.key) - 1}`;
  const fact = decodeMakerEvent(record);
  if ('unreadable' in fact) return fact.unreadable;
  const at = 'block' in fact ? ` at ${fact.block.number}` : '';
  return `${fact.type} ${detailsOf(fact)}${at}`;
}

function detailsOf(fact: MakerEvent): string {
  switch (fact.type) {
    case 'BlockProcessed':
    case 'WatcherResigned':
      return '';
    case 'ServiceModeSet':
      return fact.mode;
    case 'MakerObserved': {
      const { maker, nonce, funds, orders } = fact;
      const ofFunds = funds.map((each) => `${nameOf(each.token)} ${Number(each.balance)}/${Number(each.allowance)}`);
      const ofOrders = orders.map(
        ({ orderHash, filled, cancelled }) => `${Number(orderHash) - 1}: ${cancelled ? 'cancelled' : Number(filled)}`,
      );
      return `${nameOf(maker)} nonce ${nonce === undefined ? '-' : Number(nonce)} [${ofFunds}] {${ofOrders}}`;
    }
    default:
      return `${nameOf(fact.maker)}${'orderHash' in fact ? ` order ${Number(fact.orderHash) - 1}` : ''}`;
  }
}
