import { type TopicNames, topicNames } from '@makerbook/contracts-events';
import type { LogView } from '@makerbook/kafka/testing';
import type { Life } from '@makerbook/parts';
import { silentLogger } from '@makerbook/telemetry';
import { pollBlocks } from '../../blocks/poll-blocks.js';
import { watchHead } from '../../blocks/watch-head.js';
import { retrying } from '../../retry.js';
import { Work, type WorkParts } from '../../work.js';
import { answerNode } from './answer-node.js';
import type { Faults } from './draw-faults.js';
import type { Chain } from './keep-chain.js';
import { PROTOCOL } from './place-orders.js';
import type { Plan } from './plan-run.js';

export const TOPICS: TopicNames = topicNames();

export interface WatcherWorld extends Pick<Plan, 'settings'> {
  readonly chain: Chain;
  readonly note: (line: () => string) => void;
  readonly onFatal: (error: Error) => void;
  readonly onTakeOver: () => void;
}

/** What one watcher sees of the log, and of the rows. */
export type WatcherView = Pick<WorkParts, 'loadOrders'> & { readonly log: LogView };

/** A watcher as one process, wired as `run.ts` wires it, on a chain and a log in memory. */
export function runWatcher(life: Life, faults: Faults, world: WatcherWorld, { log, loadOrders }: WatcherView): Work {
  const { chain, note, settings } = world;
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
    log,
    openPublisher: () => log.createFencedPublisher({ transactionalId: 'chain-watcher' }),
    topics: TOPICS,
    node: seen.node,
    source: watchHead(polled, { node: seen.node, nowMs, wait, signal, onFatal, intervalMs: 500 }),
    reader: { state: seen.state, protocol: PROTOCOL, onUnreadable: () => undefined },
    settings,
    random: () => faults.random(),
    loadOrders,
    verifyChain: () => Promise.resolve(),
    logger: silentLogger,
    signal,
    nowMs,
    unixMs: nowMs,
    wait,
    retryFor: (_, until) => (once) =>
      retrying(once, {
        signal: until,
        wait: (ms) => wait(ms, until),
        onFailure: () => undefined,
        onSuccess: () => undefined,
      }),
    onFatal,
    onRole: (role) => {
      note(() => `${life.name} is ${role}`);
      if (role === 'HOLDER') world.onTakeOver();
    },
    onBlock: ({ number }, facts) => note(() => `${life.name} has processed block ${number}, ${facts} records`),
    onCatchUp: () => undefined,
  });
  work.run().catch(onFatal);
  return work;
}
