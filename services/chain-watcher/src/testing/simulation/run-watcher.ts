import { type TopicNames, topicNames } from '@makerbook/contracts-events';
import type { Log } from '@makerbook/kafka';
import type { Life } from '@makerbook/parts';
import { silentLogger } from '@makerbook/telemetry';
import { pollBlocks } from '../../blocks/poll-blocks.js';
import { watchHead } from '../../blocks/watch-head.js';
import { retrying } from '../../retry.js';
import { Work } from '../../work.js';
import { answerNode } from './answer-node.js';
import type { Faults } from './draw-faults.js';
import type { HeldLog } from './hold-log.js';
import type { Chain } from './keep-chain.js';
import { PROTOCOL } from './place-orders.js';
import type { Plan } from './plan-run.js';
import type { Projector } from './project-log.js';

export const TOPICS: TopicNames = topicNames();

export interface WatcherWorld {
  readonly chain: Chain;
  readonly log: HeldLog;
  readonly projector: Projector;
  readonly plan: Plan;
  readonly note: (line: () => string) => void;
  readonly onFatal: (error: Error) => void;
}

/** A watcher as one process, wired as `run.ts` wires it, on a chain and a log in memory. */
export function runWatcher(life: Life, faults: Faults, world: WatcherWorld): Work {
  const { chain, log, note, plan, projector } = world;
  const { signal } = life;
  const nowMs = () => life.nowMs();
  const wait = (ms: number, until?: AbortSignal) => life.wait(ms, until);
  const seen = answerNode(chain, life, faults, ({ header }, calls) =>
    note(() => `${life.name} reads ${calls} values at block ${header.number}`),
  );
  const onFatal = (error: Error) => {
    if (!(life.isOver || signal.aborted)) world.onFatal(error);
  };
  const polled = pollBlocks({
    node: seen.node,
    withLogs: true,
    pollIntervalMs: 500,
    nowMs,
    wait,
    silenceMsMax: 3000,
    onLag: () => undefined,
    wsUrl: undefined,
    onSubscriptionBroken: () => undefined,
  });
  const work = new Work({
    // What it does not use of a log is not there.
    log: log.connect(life, faults) as Log,
    appender: log.openAppender(life, faults),
    topics: TOPICS,
    node: seen.node,
    source: watchHead(polled, { node: seen.node, nowMs, wait, signal, onFatal, intervalMs: 500 }),
    reader: { state: seen.state, protocol: PROTOCOL, onUnreadable: () => undefined },
    settings: plan.settings,
    batchRecordsMax: plan.batchRecordsMax,
    holder: life.name,
    loadOrders: async (onOrders) => {
      await life.delay(faults.nodeMs());
      return projector.snapshot(onOrders);
    },
    verifyChain: () => Promise.resolve(),
    logger: silentLogger,
    signal,
    nowMs,
    wait,
    retryFor: (_, until) => (once) =>
      retrying(once, {
        signal: until,
        wait: (ms) => wait(ms, until),
        onFailure: () => undefined,
        onSuccess: () => undefined,
      }),
    onFailure: () => undefined,
    onFatal,
    onRole: (role, term) => note(() => `${life.name} is ${role} in term ${term}`),
    onBlock: ({ number }, facts) => note(() => `${life.name} has processed block ${number}, ${facts} records`),
    onCatchUp: () => undefined,
  });
  work.run().catch(onFatal);
  return work;
}
