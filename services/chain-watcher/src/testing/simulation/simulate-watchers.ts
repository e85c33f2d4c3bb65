import { decodeMakerEvent, type MakerEvent } from '@makerbook/contracts-events';
import { type Chance, createChance } from '@makerbook/local-stack';
import type { Work, WorkParts } from '../../wire-work.js';
import { HeldLog, type HeldRecord } from './hold-log.js';
import { judgeLog, type Verdict } from './judge-log.js';
import { Chain } from './keep-chain.js';
import { Life, VirtualTime } from './keep-virtual-time.js';
import { makeWeather } from './make-weather.js';
import { nameOf, openCompany, recordOf, type SignedOrder, submittedBy } from './place-orders.js';
import { runWatcher, TOPICS, type WatcherWorld } from './run-watcher.js';

export interface SimulationOptions {
  readonly seed: number;
  /** Left out, the seed says how many watchers there may be at once, whether they are killed, and whether requests fail. */
  readonly watchers?: number;
  readonly hasKills?: boolean;
  readonly hasFaults?: boolean;
  /** What happened, line by line. */
  readonly onLine?: (line: string) => void;
}

export interface SimulationReport extends Verdict {
  readonly seed: number;
  readonly blocks: number;
  readonly records: number;
  readonly kills: number;
  readonly watchers: number;
}

const START_MS = 1_700_000_000_000;
const QUIET_BLOCKS = 14;

/**
 * Watchers as they are, in one process, on a chain and a log in memory and on virtual time: orders are posted and deleted,
 * filled, cancelled and funded, watchers are killed and started, requests are slow and fail, all by the seed. At the end
 * the log is folded and held to the chain. The same seed does the same again.
 */
export async function simulateWatchers(options: SimulationOptions): Promise<SimulationReport> {
  const { seed, onLine } = options;
  const chance = createChance(seed);
  const time = new VirtualTime(START_MS);
  const season = { isCalm: false };
  const note = (line: () => string) => onLine?.(`${((time.nowMs - START_MS) / 1000).toFixed(3)} ${line()}`);
  const partitions = chance.pick([1, 2]);
  const chain = new Chain();
  const log = new HeldLog(time, partitions, (writer, records) => note(() => `${writer} stores ${linesOf(records)}`));
  const company = openCompany(chain, chance);
  const drawn = { watchers: chance.pick([1, 1, 2, 3]), hasKills: chance.oneIn(2), hasFaults: chance.oneIn(2) };
  const { watchers: watchersMax = drawn.watchers, hasKills = drawn.hasKills, hasFaults = drawn.hasFaults } = options;
  const settings = drawSettings(chance, partitions);
  note(() => `at most ${watchersMax} watchers, kills ${hasKills}, faults ${hasFaults}, ${JSON.stringify(settings)}`);
  const fatal: Error[] = [];
  const world: WatcherWorld = {
    chain,
    log,
    chance,
    settings,
    batchFactsMax: chance.pick([500, 500, 500, 3]),
    note,
    onFatal: (error) => fatal.push(error),
  };
  const alive = new Map<Life, Work>();
  let started = 0;
  let kills = 0;
  const start = () => {
    started += 1;
    const life = new Life(`w${started}`, time);
    note(() => `${life.name} starts`);
    alive.set(life, runWatcher(life, makeWeather(chance, season, hasFaults), world));
  };
  const end = () => {
    const life = chance.pickAny([...alive.keys()]);
    if (life === undefined) return;
    const isKilled = chance.oneIn(2);
    note(() => `${life.name} is ${isKilled ? 'killed' : 'stopped'}`);
    if (isKilled) life.kill();
    else life.stop(chance.below(2000));
    alive.delete(life);
    kills += 1;
  };
  const ingress = makeWeather(chance, season, false);
  const post = (order: SignedOrder) => {
    const record = recordOf(TOPICS.makerEvents, partitions, submittedBy(order, time.nowMs));
    time.after(ingress.appendMs(), () => {
      order.isPosted = true;
      log.store('ingress', [record]);
    });
    if (chance.oneIn(15)) time.after(chance.below(9000), () => log.store('ingress', [record]));
  };
  const cancel = ({ maker, hash }: SignedOrder) => {
    const expiresAtSeconds = 4_000_000_000;
    const cause = { kind: 'request', requestId: 'DELETE' } as const;
    const fact = { type: 'OrderCancelled', maker, orderHash: hash, expiresAtSeconds, cause } as const;
    time.after(ingress.appendMs(), () => log.store('ingress', [recordOf(TOPICS.makerEvents, partitions, fact)]));
  };
  const visit = () => {
    const unposted = chance.pickAny(company.orders.filter(({ isPosted }) => !isPosted));
    if (unposted !== undefined && chance.oneIn(3)) return post(unposted);
    const posted = chance.pickAny(company.orders.filter(({ isPosted }) => isPosted));
    if (posted !== undefined && chance.oneIn(8)) return cancel(posted);
    if (company.orders.length >= ORDERS_MAX) return;
    const order = company.sign(nowSeconds(time));
    note(() => `${order.label} is signed: ${order.amount} of ${nameOf(order.token)}, nonce ${order.nonce}`);
    if (!chance.oneIn(4)) post(order);
  };
  const mine = (actions: number) => {
    const done = Array.from({ length: actions }, () => company.act()).filter((text) => text !== undefined);
    const { header } = chain.mine(nowSeconds(time));
    note(() => `block ${header.number} at ${header.timestamp - START_MS / 1000}: ${done.join('; ')}`);
  };
  const stir = () => {
    if (alive.size < watchersMax && (alive.size === 0 ? chance.oneIn(4) : chance.oneIn(6))) start();
    if (hasKills && chance.oneIn(9)) end();
  };

  const live = async () => {
    mine(0);
    start();
    const blocks = chance.between(12, 40);
    const paceMs = chance.pick([1000, 1000, 250]);
    for (let left = blocks; left > 0; left -= 1) {
      for (let visits = chance.below(4); visits > 0; visits -= 1) {
        time.after(chance.oneIn(2) ? paceMs - 1 - chance.below(100) : chance.below(paceMs), visit);
      }
      time.after(chance.below(paceMs), stir);
      await time.wait(chance.oneIn(20) ? 5000 : chance.oneIn(6) ? chance.below(paceMs) : paceMs);
      for (let burst = chance.oneIn(12) ? chance.between(2, 8) : 1; burst > 0; burst -= 1) mine(chance.below(5));
    }
    await time.wait(10_000);
    season.isCalm = true;
    note(() => 'from now on nothing happens');
    if (alive.size === 0) start();
    for (let left = QUIET_BLOCKS; left > 0; left -= 1) {
      await time.wait(2000);
      mine(0);
    }
    await time.wait(12_000);
  };
  await time.runUntil(live());
  for (const life of alive.keys()) life.kill();
  const held = log.partitions(TOPICS.makerEvents);
  const isReadAtHead = settings.STATE_BLOCKS_MAX < 50;
  const mayCatchUp = settings.CATCH_UP_BLOCKS_MAX < 100;
  const verdict = judgeLog({
    chain,
    orders: company.orders,
    partitions: held,
    isSteady: watchersMax === 1 && !hasKills && !mayCatchUp && !isReadAtHead,
    // Who dies while it catches up at the head is in another block than the one that is started after it; and so is one
    // that is behind and reads at the head, until a node that lags itself knows of no head so far.
    isOfSeveral: watchersMax > 1 || (hasKills && mayCatchUp) || (hasFaults && isReadAtHead),
    isSwept: settings.SWEEP_PAIRS_PER_SECOND > 0,
    mayCatchUp,
  });
  const wrong = [...fatal.map((error) => `a watcher ended: ${error.stack}`), ...verdict.wrong];
  const records = held.reduce((sum, { length }) => sum + length, 0);
  return { ...verdict, wrong, seed, blocks: chain.head.header.number, records, kills, watchers: started };
}

function drawSettings(chance: Chance, partitions: number): WorkParts['settings'] {
  return {
    PARTITIONS: partitions,
    STATE_BLOCKS_MAX: chance.pick([100, 100, 100, 1, 3]),
    CATCH_UP_BLOCKS_MAX: chance.pick([120, 120, 120, 3]),
    ORDER_GATHER_MS: 5,
    SWEEP_PAIRS_PER_SECOND: chance.pick([20, 2, 0]),
  };
}

function nowSeconds({ nowMs }: VirtualTime): number {
  return Math.floor(nowMs / 1000);
}

function linesOf(records: readonly HeldRecord[]): string {
  return records.map((record) => `\n    ${record.partition}/${record.offset} ${lineOf(record)}`).join('');
}

function lineOf(record: HeldRecord): string {
  const fact = decodeMakerEvent(record);
  if ('unreadable' in fact) return fact.unreadable;
  const at = 'block' in fact ? ` at ${fact.block.number}` : '';
  const more = 'hasMore' in fact && fact.hasMore ? ' …' : '';
  return `${fact.type} ${detailsOf(fact)}${at}${more}`;
}

function detailsOf(fact: MakerEvent): string {
  if (fact.type === 'BlockProcessed') return `known ${fact.knownOffset}`;
  const maker = nameOf(fact.maker);
  const order = 'orderHash' in fact ? ` order ${Number(fact.orderHash) - 1}` : '';
  switch (fact.type) {
    case 'BalanceChanged':
      return `${maker} ${nameOf(fact.token)} ${Number(fact.balance)}`;
    case 'AllowanceChanged':
      return `${maker} ${nameOf(fact.token)} ${Number(fact.allowance)}`;
    case 'NonceChanged':
      return `${maker} ${Number(fact.nonce)}`;
    case 'OrderFilled':
      return `${maker}${order} ${Number(fact.filledMakingAmount)}`;
    default:
      return `${maker}${order}`;
  }
}

const ORDERS_MAX = 35;
