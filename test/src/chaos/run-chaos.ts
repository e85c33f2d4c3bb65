import { setTimeout as pause } from 'node:timers/promises';
import type { Address, Hex } from '@makerbook/contracts-primitives';
import { type Chance, createChance } from '@makerbook/parts';
import { connectPostgres } from '@makerbook/postgres';
import { compareFeed } from '../kit/compare-feed.js';
import { compareFills } from '../kit/compare-fills.js';
import { eventually } from '../kit/eventually.js';
import { type FollowedOrders, followOrders } from '../kit/follow-orders.js';
import { verifyRows } from '../kit/verify-rows.js';
import { compareAnswers } from './compare-answers.js';
import { compareAccounts, comparePairs } from './compare-reads.js';
import { type Fault, listFaults } from './faults.js';
import { type FollowedStreams, followStreams } from './follow-streams.js';
import type { Finding, OrderHistory } from './judge-orders.js';
import { judgeStates } from './judge-states.js';
import type { ChaosBed } from './open-bed.js';
import { type Load, putLoadOn } from './put-load-on.js';

export interface ChaosOptions {
  readonly seed: number;
  /** No round begins after this time. */
  readonly minutes: number;
  readonly makers: number;
  /** How many actions all makers begin per second, 16 by default. */
  readonly actionsPerSecond?: number;
  readonly isWanted?: (fault: Fault) => boolean;
  readonly roundsMax?: number;
  /** True to have never two faults at once. */
  readonly oneAtATime?: boolean;
  readonly holdMsMax?: number;
  readonly report: (line: string) => void;
}

/** One fault, or two at once, and how long it took until the service was whole again. */
export interface Round {
  readonly faults: readonly { readonly kind: string; readonly part: string; readonly detail: string }[];
  readonly heldMs: number;
  readonly beganAtMs: number;
  /** Milliseconds from the end of the fault, or the last of two, until each works. */
  readonly recoveredMs: Recovered;
}

export interface ChaosResult {
  readonly rounds: readonly Round[];
  /** The error that ended the run early. Then nothing was compared. */
  readonly failure: string | undefined;
  readonly findings: readonly Finding[];
  /** Differences of rows, feed, pairs, fills, accounts, streams and states from the log and the chain. */
  readonly differences: readonly string[];
  /** How often an order rightly became ACTIVE, or was rightly ACTIVE when a block was processed. */
  readonly held: number;
  /** How often a cap had to withhold an order after a fact. */
  readonly capped: number;
  /** Changes that streams told. */
  readonly told: number;
  readonly skipped: readonly string[];
  readonly tally: Readonly<Record<string, number>>;
  readonly orders: number;
  readonly restarts: readonly string[];
}

/** Milliseconds until something works again. `order` lasts until a newly posted order was read on the chain. */
type Recovered = Readonly<Record<'POST' | 'GET' | 'feed' | 'order', number>>;

const RECOVERED_MS_MAX = 600_000;
/** How many of the newest orders are looked at. */
const NEW_ORDERS = 50;
const POLL_MS = 20;
const PAUSE_MS = [200, 2_500] as const;
const TWO_AT_ONCE_ONE_IN = 5;
const STREAMED_MAKERS = 3;

/**
 * Harms one part after another under load, drawn by the seed. In the end compares every answer to a maker with log,
 * read model, feed and a replay, and the state of each order after each block with the chain. Ends early if a service
 * is not whole again within ten minutes after a fault, or if the feed is broken.
 */
export async function runChaos(bed: ChaosBed, options: ChaosOptions): Promise<ChaosResult> {
  const { seed, minutes, isWanted = () => true, roundsMax = Number.POSITIVE_INFINITY, holdMsMax, report } = options;
  const chance = createChance(seed);
  const { faults, skipped } = listFaults(bed, holdMsMax);
  const draw = dealFrom(faults.filter(isWanted), chance, options.oneAtATime);
  const feed = followOrders(bed.stack);
  const isProcessed = (block: number) => feed.bookBlock() >= block;
  const load = await putLoadOn(bed, options.makers, createChance(seed + 1), isProcessed, options.actionsPerSecond);
  const streams = followStreams(load.makers.slice(0, STREAMED_MAKERS), createChance(seed + 2));
  try {
    await recovered(bed, load, feed, performance.now());
    const rounds: Round[] = [];
    const playAll = async () => {
      for (
        const endMs = performance.now() + minutes * 60_000;
        performance.now() < endMs && rounds.length < roundsMax;
      ) {
        const round = await playRound(bed, load, feed, draw, chance);
        rounds.push(round);
        report(describeRound(rounds.length, round));
        await pause(chance.between(...PAUSE_MS));
      }
      await load.stop();
      return compare(bed, load, feed, streams);
    };
    const compared = await playAll().then(
      (found) => ({ failure: undefined, ...found }),
      (error: Error) => ({
        failure: error.message,
        findings: [],
        differences: [],
        held: 0,
        capped: 0,
        told: 0,
      }),
    );
    const { orders, tally } = load;
    report(`${orders.length} orders: ${JSON.stringify(tally)}`);
    return { rounds, ...compared, skipped, tally, orders: orders.length, restarts: bed.restarts };
  } finally {
    await load.stop().catch(() => undefined);
    await streams.stop();
    await feed.close();
  }
}

/** Deals one fault or two. Each comes once, in a random order, before any comes again. */
function dealFrom(faults: readonly Fault[], chance: Chance, oneAtATime = false): () => readonly Fault[] {
  let left: Fault[] = [];
  const draw = () => {
    if (left.length === 0) left = [...faults];
    const [fault] = left.splice(chance.below(left.length), 1);
    if (fault === undefined) throw new Error('there is no fault to inject');
    return fault;
  };
  return () => {
    const first = draw();
    if (oneAtATime || !chance.oneIn(TWO_AT_ONCE_ONE_IN)) return [first];
    const second = draw();
    return second.part === first.part ? [first] : [first, second];
  };
}

async function playRound(
  bed: ChaosBed,
  load: Load,
  feed: FollowedOrders,
  draw: () => readonly Fault[],
  chance: Chance,
): Promise<Round> {
  const chosen = draw();
  const holdMs = Math.max(...chosen.map((fault) => chance.between(...fault.holdMs)));
  const beganAtMs = performance.now();
  const begun: { readonly kind: string; readonly part: string; readonly detail: string }[] = [];
  const endings: (() => Promise<void>)[] = [];
  try {
    for (const fault of chosen) {
      const { detail, end } = await fault.begin(chance);
      begun.push({ kind: fault.kind, part: fault.part, detail });
      endings.push(end);
    }
    await pause(holdMs);
  } finally {
    for (const end of endings) await end();
  }
  const endedAtMs = performance.now();
  const recoveredMs = await recovered(bed, load, feed, endedAtMs).catch((error: Error) => {
    const what = begun.map(({ kind, detail }) => `${kind}: ${detail}`).join(' and ');
    throw new Error(`after ${what}: ${error.message}`, { cause: error });
  });
  await bed.ready();
  return { faults: begun, heldMs: endedAtMs - beganAtMs, beganAtMs, recoveredMs };
}

/** Waits until a new POST and a new GET are answered, the order was read, and the feed has a later block. */
async function recovered(bed: ChaosBed, load: Load, feed: FollowedOrders, fromMs: number): Promise<Recovered> {
  const answered = async (kind: 'POST' | 'GET') => {
    for (;;) {
      const { beganAtMs, endedAtMs } = load.answered(kind);
      if (beganAtMs >= fromMs) return endedAtMs - fromMs;
      await tick(kind);
    }
  };
  const followed = async () => {
    let head: number | undefined;
    while (head === undefined || feed.bookBlock() <= head) {
      head ??= await bed.askChain('eth_blockNumber').then(Number, () => undefined);
      await tick('the feed');
    }
    return performance.now() - fromMs;
  };
  const read = async () => {
    const isNew = ({ posts }: OrderHistory) =>
      posts.some(({ outcome, beganAtMs }) => outcome === 'stored' && beganAtMs >= fromMs);
    const isRead = ({ signed: { orderHash } }: OrderHistory) =>
      feed.isObserved(orderHash) || feed.last(orderHash).startsWith('gone');
    while (!load.orders.slice(-NEW_ORDERS).some((order) => isNew(order) && isRead(order))) await tick('an order');
    return performance.now() - fromMs;
  };
  const tick = async (what: string) => {
    if (performance.now() - fromMs > RECOVERED_MS_MAX)
      throw new Error(`${what} does not work after ${RECOVERED_MS_MAX} ms`);
    await pause(POLL_MS);
  };
  const [POST, GET, feedMs, order] = await Promise.all([answered('POST'), answered('GET'), followed(), read()]);
  return { POST, GET, feed: feedMs, order };
}

function describeRound(number: number, { faults, heldMs, recoveredMs }: Round): string {
  const what = faults.map(({ kind, detail }) => `${kind}: ${detail}`).join(' and ');
  const times = Object.entries(recoveredMs).map(([name, ms]) => `${name} ${(ms / 1000).toFixed(1)} s`);
  return `${number}. ${what}, for ${(heldMs / 1000).toFixed(1)} s; ${times.join(', ')}`;
}

async function compare({ stack, chain, ready }: ChaosBed, load: Load, feed: FollowedOrders, streams: FollowedStreams) {
  const partitions = Number(stack.operatorEnvironment['PARTITIONS']);
  const postgres = connectPostgres({
    url: stack.addresses.databaseUrl,
    connectTimeoutMs: 60_000,
    statementTimeoutMs: 60_000,
    onConnectionLost() {},
  });
  try {
    await ready();
    // An order with a nonce ahead stays new for an hour if ingress accepted it with its clock an hour ahead.
    const ahead = new Set(load.orders.flatMap(({ signed, wasAhead }) => (wasAhead ? signed.orderHash : [])));
    const unread = async () => {
      const rows = await postgres.query<{ hash: string }>(
        `select '0x' || encode(order_hash, 'hex') as hash from orders where status = 'VALIDATING'`,
      );
      return rows.filter(({ hash }) => !ahead.has(hash as Hex)).length;
    };
    await eventually(() => unread().catch(String), 0);
    const { baseUrl } = stack.addresses;
    const pairs = await eventually(() => comparePairs(feed, baseUrl), []).then(
      () => [],
      ({ message }: Error) => [message],
    );
    // Stop the blocks, so that nothing is appended meanwhile.
    await chain.stop(load.orders.map(({ signed }) => signed.orderHash));
    await eventually(async () => Math.min(feed.block(), feed.bookBlock()), chain.head.header.number);
    let rows: string[] = [];
    const agree = async () => {
      rows = await verifyRows(stack);
      return rows.length;
    };
    await eventually(agree, 0).catch(() => undefined);
    const findings = await compareAnswers(load, feed, postgres, partitions);
    const fills = await compareFills(load.makers, (maker) => chain.fillsOf(maker), baseUrl);
    const accounts = await compareAccounts(load.makers, chain.head.header.number);
    const streamed = await streams.compare();
    const protocol = stack.addresses.limitOrderProtocol as Address;
    const { wrong, ...sums } = judgeStates(load.orders, feed, { chain, protocol, partitions });
    return {
      findings,
      differences: [
        ...compareFeed(feed, partitions),
        ...rows,
        ...wrong,
        ...fills,
        ...pairs,
        ...accounts,
        ...streamed.wrong,
      ],
      told: streamed.told,
      ...sums,
    };
  } finally {
    await postgres.close();
  }
}
