import { isUnfoldable } from '@makerbook/chain-watcher/testing';
import { decodeMakerEvent } from '@makerbook/contracts-events';
import type { Address, Hex } from '@makerbook/contracts-primitives';
import { MakerDraft } from '@makerbook/domain';
import { isRefusal } from '@makerbook/http';
import type { StoredRecord } from '@makerbook/kafka';
import { LogInMemory } from '@makerbook/kafka/testing';
import { type Calm, type Chance, createChance, Draws, Life, replaceMethod, VirtualTime } from '@makerbook/parts';
import type { Tables } from '@makerbook/projector/testing';
import { RedisInMemory } from '@makerbook/query/testing';
import {
  GRACE_SECONDS,
  type MakersAtWork,
  nameOf,
  openMakers,
  PROTOCOL,
  recordOf,
  SILENT,
  unfoldableOf,
} from './chain/act-on-chain.js';
import { Chain } from './chain/keep-chain.js';
import type { Holder } from './consume-partition.js';
import { StoreInMemory } from './hold-store.js';
import { judgeAnswers } from './judge/judge-answers.js';
import { judgeBudgets } from './judge/judge-budgets.js';
import { judgeFeed } from './judge/judge-feed.js';
import { judgeStreamsOfFeed } from './judge/judge-feed-streams.js';
import { judgeFills } from './judge/judge-fills.js';
import { judgeHistories, judgeStreams } from './judge/judge-histories.js';
import { judgeLog } from './judge/judge-log.js';
import { judgeBook, judgeEnd, judgeFeeds, judgeRows } from './judge/judge-rows.js';
import { Replay } from './judge/replay-log.js';
import type { Action, Kind, Plan } from './plan-run.js';
import { type Handle, runIngress, runProjector, runQuery, TOPICS, type World } from './run-processes.js';
import { startWatcher } from './run-watcher.js';
import { FeedVisits } from './visit-feed.js';
import { hashOrder, MAKER_ADDRESSES, type Visit, Visits } from './visit-service.js';

/** A build with a mistake that is mended before a maker is released. The draft of a release is due at 0. */
replaceMethod(
  MakerDraft.prototype,
  'apply',
  (apply) =>
    function (this: MakerDraft, fact, ...rest) {
      if (!isUnfoldable(fact)) return apply.call(this, fact, ...rest);
      if (this.dueAtSeconds === 0) return [];
      throw new Error('a build with a mistake');
    },
);

export interface RunOptions {
  /** Receives what happens, line by line. */
  readonly onLine?: ((line: string) => void) | undefined;
  /** Plants a defect in a projector that has just taken a partition. */
  readonly onTaken?: World['onTaken'];
  /** If false, the rows of each commit are not kept. */
  readonly isJudged?: boolean;
}

export interface RunReport {
  readonly wrong: readonly string[];
  readonly facts: number;
  readonly commits: number;
  readonly processes: number;
  readonly requests: number;
  readonly accepted: number;
  readonly cancelled: number;
  readonly quarantines: number;
  readonly blocks: number;
  /** How often an order rightly became ACTIVE, or was rightly ACTIVE when a block was processed. */
  readonly held: number;
  /** How often a cap had to withhold an order after a fact. */
  readonly capped: number;
  /** Reads that were answered to a key that may read for a maker. */
  readonly byReader: number;
  /** Questions of routers that feed answered. */
  readonly asked: number;
  /** Records that routers received by streams of feed. */
  readonly streamed: number;
}

const START_MS = 1_700_000_000_000;
/** By then the leases of all requests have ended, and every process has caught up. */
const HEALED_MS = 18_000;
const QUIET_BLOCKS = 12;

/**
 * Runs the whole service in one process on virtual time, with a log, rows, a cache and a chain in memory. The plan says
 * when makers send requests and act on the chain, when processes are killed, stopped or frozen, when the cache is
 * flushed and when the rows fall back to older ones. Requests are slow and fail. At the end all that was answered,
 * published and stored is compared with the log and the chain. The same plan does the same again.
 */
export async function runPlan(plan: Plan, options: RunOptions = {}): Promise<RunReport> {
  const run = new Run(plan, options);
  await run.time.runUntil(run.live());
  return run.judge();
}

/** Does a run that is not judged. @returns its log and feeds */
export async function runUnjudged(plan: Plan): Promise<LogInMemory> {
  const run = new Run(plan, { isJudged: false });
  await run.time.runUntil(run.live());
  return run.log;
}

/** One process of the service. */
interface Process {
  readonly kind: Kind;
  readonly life: Life;
  /** Answers the requests to ingress or query. */
  readonly handle?: Handle;
  /** Holders of a projector, keyed by partition. */
  readonly holders?: readonly Holder[];
}

/** The rows of a partition as they were committed, and how much was published by then. */
interface Commit {
  readonly partition: number;
  readonly tables: Tables;
  readonly published: number;
}

class Run {
  readonly time = new VirtualTime(START_MS);
  readonly #plan: Plan;
  readonly #options: RunOptions;
  readonly #world: World;
  readonly #makers: MakersAtWork;
  readonly #visits: Visits;
  readonly #routers: FeedVisits;
  readonly #draws: Draws;
  readonly #fatal: string[] = [];
  readonly #commits: Commit[] = [];
  readonly #wrong: string[] = [];
  #running: Process[] = [];
  #started = 0;
  readonly #quarantined = new Set<Address>();
  #quietBlock = 0;

  constructor(plan: Plan, options: RunOptions) {
    this.#plan = plan;
    this.#options = options;
    this.#draws = new Draws(plan.seed);
    const nowMs = () => this.time.nowMs;
    const note = (line: () => string) => this.#note(line);
    const log = new LogInMemory({
      partitions: plan.partitions,
      batchRecordsMax: plan.batchRecordsMax,
      nowMs,
      onStored: (records) => note(() => `stored ${records.map(lineOf).join('')}`),
    });
    this.#world = {
      time: this.time,
      plan,
      chain: new Chain(),
      log,
      redis: new RedisInMemory(nowMs),
      store: new StoreInMemory(plan.partitions, nowMs, (partition) => this.#onCommit(partition)),
      calm: { isCalm: false } as Calm,
      cache: { isAway: !plan.hasCache },
      parked: new Set(),
      onTaken: options.onTaken,
      note,
      onFatal: (error) => this.#fatal.push(`a process ended: ${error.stack}`),
    };
    this.#makers = openMakers(this.#world.chain, createChance(plan.seed), MAKER_ADDRESSES, hashOrder, plan.hasCostly);
    const find = (wanted: Kind, chance: Chance) => {
      const servers = this.#running.flatMap(({ kind, life, handle }) =>
        kind === wanted && handle ? [{ life, handle }] : [],
      );
      return chance.pickAny(servers);
    };
    const filledOf = (hash: Hex) => {
      const [order] = this.#world.store.tables.flatMap(({ orders }) => orders.get(hash) ?? []);
      return order && BigInt(order.makingAmount) - BigInt(order.remaining);
    };
    this.#visits = new Visits({ makers: this.#makers, nowMs, ends: () => this.#ends(), note, find, filledOf });
    this.#routers = new FeedVisits(this.#world);
    this.#world.store.onMark = (requestId) => this.#visits.seeFills(requestId);
  }

  get log(): LogInMemory {
    return this.#world.log;
  }

  async live(): Promise<void> {
    const { actions, quietAtMs } = this.#plan;
    for (const [index, maker] of MAKER_ADDRESSES.entries()) {
      const atMs = this.#plan.admittedAtMs?.[index] ?? 0;
      if (atMs === 0) this.#decide('MakerAdmitted', maker);
      else this.time.after(atMs, () => this.#decide('MakerAdmitted', maker));
    }
    for (const action of actions) this.time.after(action.atMs, () => this.#take(action));
    await this.time.wait(quietAtMs);
    this.#note(() => 'from now on nothing fails');
    this.#quietBlock = this.#world.chain.head.header.number;
    const { calm, cache, store } = this.#world;
    calm.isCalm = true;
    cache.isAway = !this.#plan.hasCache;
    store.setAway(false);
    this.#makers.turn(false);
    for (const { life } of this.#running.splice(2)) life.kill();
    for (const kind of ['ingress', 'query', 'projector', 'watcher'] as const) this.#start(kind, 1);
    const hasRouters = actions.some((action) => action.do === 'ask' || action.do === 'follow');
    if (hasRouters) this.#start('feed', 1);
    await this.#mineFor(HEALED_MS);
    await this.#visitEachOnce();
    await this.#mineFor(2_000 * QUIET_BLOCKS);
    for (const byReader of [false, true])
      await this.#answered(MAKER_ADDRESSES.map((maker) => this.#visits.list(maker, createChance(1), byReader)));
    await this.#readHistories();
    await this.#answered(MAKER_ADDRESSES.map((maker) => this.#visits.follow(maker, createChance(1))));
    for (let left = hasRouters ? 6 : 0; left > 0; left -= 1) this.#ask(this.#plan.seed + left);
    if (hasRouters) this.#catching(this.#routers.followAll(createChance(this.#plan.seed)));
    await this.time.wait(5_000);
    this.#routers.close();
    for (const { life } of this.#running) life.kill();
  }

  judge(): RunReport {
    const { log, chain } = this.#world;
    const { partitions: count } = this.#plan;
    const partitions = Array.from({ length: count }, (_, partition) => log.records(TOPICS.makerEvents, partition));
    const replays = partitions.map((records, partition) => new Replay(records, partition, GRACE_SECONDS));
    const { orders } = this.#makers;
    const wrong = [
      ...this.#fatal,
      ...this.#wrong,
      ...replays.flatMap((replay, partition) => this.#judgePartition(replay, partition)),
    ];
    wrong.push(
      ...judgeAnswers({
        visits: this.#visits.all,
        orders,
        replays,
        openOrdersMax: this.#plan.openOrdersMax,
        ordersBurst: this.#plan.budget?.burst ?? Number.MAX_SAFE_INTEGER,
        markedAtMs: this.#world.store.markedAtMs,
      }),
      ...this.#judgeBudgets(replays),
      ...judgeHistories(this.#visits, replays),
      ...judgeStreams(this.#visits, replays),
      ...judgeFeed(log, count, this.#routers.all),
      ...judgeStreamsOfFeed(log, count, this.#routers.followed),
    );
    const isSwept = this.#plan.watcher.SWEEP_PAIRS_PER_SECOND > 0;
    const steadyTo = isSteady(this.#plan) ? this.#quietBlock : 0;
    const facts = replays.map((replay) => replay.facts.map(({ offset, fact }) => [offset, fact] as const));
    for (const one of facts) wrong.push(...judgeFills(chain, orders, one));
    const verdict = judgeLog({
      chain,
      protocol: PROTOCOL,
      graceSeconds: GRACE_SECONDS,
      isSilent: (token) => token === SILENT,
      orders,
      partitions: facts,
      steadyTo,
      isSwept,
    });
    wrong.push(...verdict.wrong);
    const isAnswered =
      (kind: Visit['kind']) =>
      ({ kind: own, answer }: Visit) =>
        own === kind && answer !== undefined && !isRefusal(answer.reply);
    return {
      wrong,
      facts: partitions.flat().length,
      commits: this.#commits.length,
      processes: this.#started,
      requests: this.#visits.all.length,
      accepted: this.#visits.all.filter(isAnswered('POST')).length,
      cancelled: this.#visits.all.filter(isAnswered('DELETE')).length,
      quarantines: this.#quarantined.size,
      blocks: chain.head.header.number,
      held: verdict.held,
      capped: verdict.capped,
      asked: this.#routers.all.filter(({ reply }) => !isRefusal(reply)).length,
      streamed: this.#routers.followed.flatMap(({ all }) => all.flatMap(({ events }) => events)).length,
      byReader: this.#visits.all.filter(({ right, answer }) => right && answer && !isRefusal(answer.reply)).length,
    };
  }

  #judgeBudgets(replays: readonly Replay[]): string[] {
    const { budget, actions } = this.#plan;
    if (budget === undefined) return [];
    const crashes = actions.flatMap(({ atMs, ...action }) => (action.do === 'crash' ? [START_MS + atMs] : []));
    return judgeBudgets(replays, budget, crashes);
  }

  /** The feeds, and the rows after each commit, must match the replay of the log. The book must match the rows. */
  #judgePartition(replay: Replay, partition: number): string[] {
    const published = this.#world.log.published.filter((record) => record.partition === partition);
    const wrong = judgeFeeds(published, replay);
    for (const { partition: own, tables, published: length } of this.#commits) {
      if (own !== partition || wrong.length > 0) continue;
      wrong.push(...judgeRows(tables, replay, published.slice(0, length)));
    }
    const tables = this.#world.store.tables[partition];
    const end = this.#world.log.end(TOPICS.makerEvents, partition);
    if (tables !== undefined && tables.projection.nextOffset < end)
      wrong.push(`the rows of ${partition} are at ${tables.projection.nextOffset}, not at ${end}`);
    if (wrong.length === 0 && tables !== undefined) wrong.push(...judgeBook(tables, published), ...judgeEnd(tables));
    const parked = [...this.#world.parked].flatMap((place) => place.match(`^${partition} (.*)`)?.[1] ?? []);
    const [are, must] = [parked, [...replay.parked]].map((places) => places.sort().join(', '));
    if (are !== must) wrong.push(`parked is ${are}, and must be ${must}`);
    return wrong.map((what) => `partition ${partition}: ${what}`);
  }

  /** Makers can post and cancel earlier orders again, and can post new ones. */
  async #visitEachOnce(): Promise<void> {
    const chance = createChance(this.#plan.seed + 7);
    const some = this.#makers.orders.filter(() => chance.oneIn(3));
    await this.#answered(
      some.map((order) =>
        chance.oneIn(3) ? this.#visits.cancel([order], chance) : this.#visits.post([order], chance),
      ),
    );
    await this.#answered(MAKER_ADDRESSES.map(() => this.#visits.post([this.#visits.sign(chance)], chance)));
  }

  /** Each maker reads its history to the end. */
  async #readHistories(): Promise<void> {
    const chance = createChance(this.#plan.seed + 9);
    // Wait for pages that were asked of processes that are gone.
    await this.time.wait(20_000);
    for (const maker of MAKER_ADDRESSES) {
      for (let hasMore = true; hasMore; ) {
        let visit: Visit | undefined;
        void this.#visits.readHistory(maker, chance).then((answered) => {
          visit = answered;
        });
        for (let left = 100; left > 0 && visit === undefined; left -= 1) await this.time.wait(100);
        const reply = visit?.answer?.reply;
        hasMore = reply !== undefined && !isRefusal(reply) && JSON.parse(String(reply.body)).hasMore;
        if (reply === undefined || isRefusal(reply)) this.#wrong.push(`the history of ${maker} is not served`);
      }
    }
  }

  /** Waits for the answers, and reports the requests without a useful one. */
  async #answered(visits: readonly Promise<Visit>[]): Promise<void> {
    const sent = this.#visits.all.slice(this.#visits.all.length - visits.length);
    void Promise.all(visits).catch((error: Error) => this.#wrong.push(`a request threw ${error.stack}`));
    for (let left = 10; left > 0 && sent.some(({ answer }) => answer === undefined); left -= 1)
      await this.#mineFor(2_000);
    const late = sent.filter(
      ({ answer }) => answer === undefined || (isRefusal(answer.reply) && answer.reply.code === 'unavailable'),
    );
    this.#wrong.push(...late.map(({ number }) => `visit ${number} is not served though nothing fails`));
  }

  async #mineFor(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 2_000) {
      await this.time.wait(2_000);
      this.#mine([]);
    }
  }

  #ends(): readonly bigint[] {
    const { log } = this.#world;
    return Array.from({ length: this.#plan.partitions }, (_, partition) => log.end(TOPICS.makerEvents, partition));
  }

  #note(line: () => string): void {
    this.#options.onLine?.(`${((this.time.nowMs - START_MS) / 1000).toFixed(3)} ${line()}`);
  }

  #onCommit(partition: number): void {
    const tables = this.#world.store.tables[partition];
    if (tables === undefined) return;
    this.#note(() => `the rows of ${partition} are at ${tables.projection.nextOffset}`);
    if (this.#options.isJudged === false) return;
    const published = this.#world.log.published.filter((record) => record.partition === partition).length;
    this.#commits.push({ partition, tables, published });
  }

  #take(action: Action): void {
    const { store, cache, redis } = this.#world;
    if (!['mine', 'visit', 'ask', 'follow'].includes(action.do)) this.#note(() => JSON.stringify(action));
    switch (action.do) {
      case 'mine':
        return this.#mine(action.acts);
      case 'visit':
        return this.#visits.visit(action.draw);
      case 'ask':
        return this.#ask(action.draw);
      case 'follow':
        return this.#catching(this.#routers.follow(createChance(action.draw)));
      case 'cap':
        return this.#visits.cap(MAKER_ADDRESSES[action.maker] ?? MAKER_ADDRESSES[0], createChance(action.draw));
      case 'fill':
        return void this.#makers.fill(createChance(action.draw));
      case 'replace':
        return this.#visits.replace(createChance(action.draw));
      case 'late':
        return this.#fillLate(createChance(action.draw));
      case 'start':
        return this.#start(action.kind, action.draw);
      case 'quarantine':
        return this.#quarantine(action);
      case 'suspend':
        return this.#suspend(action);
      case 'garble':
        return this.#garble(action);
      case 'repeat':
        return this.#repeat(action);
      case 'flush':
        return redis.flush();
      case 'crash':
        return store.crash(action.lostMs);
      case 'prune':
        return store.prune();
      case 'outage': {
        const setAway = (isAway: boolean) => {
          if (action.of === 'rows') store.setAway(isAway);
          else cache.isAway = isAway || !this.#plan.hasCache;
        };
        setAway(true);
        return this.time.after(action.forMs, () => setAway(false));
      }
      default:
        return this.#disturb(action);
    }
  }

  #ask(draw: number): void {
    this.#catching(this.#routers.ask(createChance(draw)));
  }

  #catching(request: Promise<void>): void {
    request.catch((error: Error) => this.#wrong.push(`a router's request threw ${error.stack}`));
  }

  #mine(acts: readonly number[]): void {
    const done = acts.flatMap((seed) => this.#makers.act(createChance(seed), seed) ?? []);
    const { header } = this.#world.chain.mine(Math.floor(this.time.nowMs / 1000));
    this.#note(() => `block ${header.number}: ${done.join('; ')}`);
  }

  #start(kind: Kind, draw: number): void {
    this.#started += 1;
    const life = new Life(`${kind} ${this.#started}`, this.time);
    if (kind === 'ingress') this.#running.push({ kind, life, handle: runIngress(life, draw, this.#world) });
    else if (kind === 'query') this.#running.push({ kind, life, handle: runQuery(life, draw, this.#world) });
    else if (kind === 'feed') {
      this.#routers.start(life, draw);
      this.#running.push({ kind, life });
    } else if (kind === 'watcher') {
      startWatcher(life, draw, this.#world);
      this.#running.push({ kind, life });
    } else this.#startProjector(life, draw);
  }

  /** The other projectors find out some time later that a partition is no longer theirs. */
  #startProjector(life: Life, draw: number): void {
    for (const { holders = [] } of this.#running) {
      for (const holder of holders) {
        const afterMs = this.#world.calm.isCalm ? 0 : this.#draws.at(this.time.nowMs, holder.life.name).below(3_000);
        this.time.after(afterMs, () => {
          holder.isStale = true;
        });
      }
    }
    this.#running.push({ kind: 'projector', life, holders: runProjector(life, draw, this.#world) });
  }

  #disturb(action: Extract<Action, { do: 'kill' | 'stop' | 'freeze' }>): void {
    const own = this.#running.filter(({ kind }) => kind === action.kind);
    const one = own[action.which % Math.max(1, own.length)];
    if (one === undefined) return;
    const { life, holders = [] } = one;
    if (action.do === 'freeze') return life.freeze(action.forMs);
    this.#running = this.#running.filter((other) => other !== one);
    if (action.do === 'kill') return life.kill();
    for (const holder of holders) holder.isStopping = true;
    life.stop(action.withinMs);
  }

  #decide(type: 'MakerSuspended' | 'MakerRemoved' | 'MakerAdmitted' | 'QuarantineLifted', maker: Address): void {
    const cause = { kind: 'operator', commandId: 'decision' } as const;
    this.#world.log.store([recordOf(TOPICS.makerEvents, this.#plan.partitions, { type, maker, cause })]);
  }

  #suspend({ maker: index, isRemoved, forMs }: Extract<Action, { do: 'suspend' }>): void {
    const maker = MAKER_ADDRESSES[index] ?? MAKER_ADDRESSES[0];
    this.#decide(isRemoved ? 'MakerRemoved' : 'MakerSuspended', maker);
    this.time.after(forMs, () => this.#decide('MakerAdmitted', maker));
  }

  #garble({ maker: index }: Extract<Action, { do: 'garble' }>): void {
    const maker = MAKER_ADDRESSES[index] ?? MAKER_ADDRESSES[0];
    const fact = { type: 'MakerAdmitted', maker, cause: { kind: 'operator', commandId: 'decision' } } as const;
    const record = recordOf(TOPICS.makerEvents, this.#plan.partitions, fact);
    this.#world.log.store([{ ...record, value: Buffer.from('{') }]);
  }

  /** Fills an order that is not open: before it is posted, or after it was cancelled. */
  #fillLate(chance: Chance): void {
    const order = this.#visits.sign(chance);
    const fill = () => {
      const filled = this.#makers.fill(chance, order) ?? `${order.label} cannot be filled`;
      this.#note(() => filled);
    };
    const post = () => void this.#visits.post([order], chance);
    const cancel = () => void this.#visits.cancel([order], chance);
    const steps = chance.oneIn(3) ? [fill, post] : [post, cancel, fill];
    let afterMs = 0;
    for (const step of steps) {
      this.time.after(afterMs, step);
      afterMs += chance.between(300, 2_000);
    }
  }

  /** Stores a record again, perhaps several times, as when a broker dies during an append. */
  #repeat({ draw, times = 1 }: Extract<Action, { do: 'repeat' }>): void {
    const { log } = this.#world;
    const chance = createChance(draw);
    const partition = chance.below(this.#plan.partitions);
    const asked = log.records(TOPICS.makerEvents, partition).filter((record) => {
      const fact = decodeMakerEvent(record);
      return 'cause' in fact && fact.cause.kind === 'request' && !isUnfoldable(fact);
    });
    const record = chance.pickAny(asked.slice(-3));
    for (let left = times; left > 0 && record !== undefined; left -= 1) log.store([record]);
  }

  /** Stores an order that the projector cannot fold. An operator releases its maker later. */
  #quarantine({ maker: index, forMs }: Extract<Action, { do: 'quarantine' }>): void {
    const maker = MAKER_ADDRESSES[index] ?? MAKER_ADDRESSES[0];
    if (this.#quarantined.has(maker)) return;
    this.#quarantined.add(maker);
    const order = unfoldableOf(maker, this.#quarantined.size, this.time.nowMs);
    this.#world.log.store([recordOf(TOPICS.makerEvents, this.#plan.partitions, order)]);
    this.time.after(forMs, () => this.#decide('QuarantineLifted', maker));
  }
}

/** True if one watcher runs unharmed and follows the blocks one by one. */
function isSteady({ actions, watcher: { CATCH_UP_BLOCKS_MAX, STATE_BLOCKS_MAX } }: Plan): boolean {
  const ofWatchers = actions.filter((action) => 'kind' in action && action.kind === 'watcher');
  return ofWatchers.length === 1 && CATCH_UP_BLOCKS_MAX >= 100 && STATE_BLOCKS_MAX >= 50;
}

function lineOf(record: StoredRecord): string {
  const at = `\n    ${record.topic} ${record.partition}/${record.offset} `;
  if (record.topic !== TOPICS.makerEvents) return `${at}${record.key} ${record.value ?? record.headers['removal']}`;
  const fact = decodeMakerEvent(record);
  if ('unreadable' in fact) return at + fact.unreadable;
  const block = 'block' in fact ? ` at ${fact.block.number}` : '';
  const whose = 'maker' in fact ? ` ${nameOf(fact.maker)}` : '';
  return `${at}${fact.type}${whose}${'orderHash' in fact ? ` ${fact.orderHash.slice(0, 10)}` : ''}${block}`;
}
