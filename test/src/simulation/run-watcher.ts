import { type BlockSource, isRetryable, TakenBlocks, Work } from '@makerbook/chain-watcher/testing';
import { retry } from '@makerbook/contracts-primitives';
import type { Life } from '@makerbook/parts';
import { PostgresUnavailable } from '@makerbook/postgres';
import { silentLogger } from '@makerbook/telemetry';
import { PROTOCOL } from './chain/act-on-chain.js';
import { answerNode } from './chain/answer-node.js';
import { drawFaults } from './chain/draw-faults.js';
import { tellBlocks } from './chain/tell-blocks.js';
import { connect, TOPICS, type World } from './run-processes.js';

/** Starts a watcher as one process, wired as in its `run.ts`. */
export function startWatcher(life: Life, draw: number, world: World): void {
  const { time, plan, chain, store, calm, note } = world;
  const { log, requests } = connect(life, draw, world);
  const { signal } = life;
  const faults = drawFaults(draw, () => time.nowMs, calm, plan);
  const monotonicMs = () => life.nowMs();
  const wait = (ms: number, until?: AbortSignal) => life.wait(ms, until);
  const seen = answerNode(chain, life, faults, ({ header }, calls) =>
    note(() => `${life.name} reads ${calls} values at block ${header.number}`),
  );
  const onFatal = (error: Error) => {
    if (!(life.isOver || signal.aborted)) world.onFatal(error);
  };
  const taken = new TakenBlocks({
    node: seen.node,
    withLogs: true,
    pollIntervalMs: 500,
    monotonicMs,
    wait,
    signal,
    onFatal,
    nodeSilenceMsMax: 3000,
    onLag: () => undefined,
    ...(plan.hasSources ? tellBlocks(draw, chain, life) : { subscribe: undefined, topic: undefined }),
  });
  const unavailable = (fate: string) => new PostgresUnavailable(`postgres: ${fate}`);
  const work = new Work({
    log,
    openPublisher: () => log.createFencedPublisher({ transactionalId: 'chain-watcher' }),
    topics: TOPICS,
    node: seen.node,
    source: countTurns(life, taken),
    reader: { state: seen.state, protocol: PROTOCOL, onUnreadable: () => undefined },
    settings: { ...plan.watcher, PARTITIONS: plan.partitions, ORDER_GATHER_MS: 5, BLOCK_AHEAD_SECONDS_MAX: 60 },
    random: () => faults.random(),
    moreOrdersMin: 1,
    loadOrders: (onOrders) => {
      const read = () => {
        onOrders(store.openOrders());
        return store.projected();
      };
      return requests.send('open orders', read, unavailable, { isAway: store.isAway });
    },
    verifyChain: () => Promise.resolve(),
    logger: silentLogger,
    signal,
    monotonicMs,
    unixMs: monotonicMs,
    wait,
    retryFor: (_, until) => (once) =>
      retry(once, { mayRepeat: isRetryable, signal: until, wait: (ms) => wait(ms, until) }),
    onFatal,
    onRole: (role) => note(() => `${life.name} is ${role}`),
    onBlock: ({ number }, facts) => note(() => `${life.name} has processed block ${number}, ${facts} records`),
    onCatchUp: () => undefined,
  });
  work.run().catch(onFatal);
}

/** Throws if the block loop spins. A loop that never waits would never end, because time does not pass. */
function countTurns(life: Life, source: BlockSource): BlockSource {
  let atMs = 0;
  let turns = 0;
  const next = source.next.bind(source);
  return Object.assign(source, {
    next: async (number: number) => {
      const block = await next(number);
      turns = block === undefined && atMs === life.nowMs() ? turns + 1 : 0;
      atMs = life.nowMs();
      if (turns > TURNS_MAX) throw new Error(`the block loop spins at block ${number}`);
      return block;
    },
  });
}

/** The most turns at one moment. A few are right: for an answer, an announcement and a new block. */
const TURNS_MAX = 10;
