import { type TopicNames, topicNames } from '@makerbook/contracts-events';
import type { Log } from '@makerbook/kafka';
import type { Chance } from '@makerbook/local-stack';
import { silentLogger } from '@makerbook/telemetry';
import type { WatcherState } from '../../keep-position.js';
import { pollBlocks } from '../../poll-blocks.js';
import { retrying } from '../../retry.js';
import { watchHead } from '../../watch-head.js';
import { type Work, type WorkParts, wireWork } from '../../wire-work.js';
import { answerNode } from './answer-node.js';
import type { HeldLog } from './hold-log.js';
import type { Chain } from './keep-chain.js';
import type { Life } from './keep-virtual-time.js';
import type { Weather } from './make-weather.js';
import { PROTOCOL } from './place-orders.js';

export const TOPICS: TopicNames = topicNames();

export interface WatcherWorld {
  readonly chain: Chain;
  readonly log: HeldLog;
  readonly chance: Chance;
  readonly settings: WorkParts['settings'];
  readonly batchFactsMax: number;
  readonly note: (line: () => string) => void;
  readonly onFatal: (error: Error) => void;
}

/** A watcher of one life, wired as the process wires it, on a chain and a log in memory. */
export function runWatcher(life: Life, weather: Weather, world: WatcherWorld): Work {
  const { chain, log, chance, settings, batchFactsMax, note } = world;
  const { signal } = life;
  const nowMs = () => life.nowMs();
  const wait = (ms: number) => life.wait(ms);
  const seen = answerNode(chain, life, weather, ({ header }, calls) =>
    note(() => `${life.name} reads ${calls} values at block ${header.number}`),
  );
  const state: WatcherState = { phase: 'READING_LOG', matched: undefined, processed: undefined, catchUp: undefined };
  const onFatal = (error: Error) => {
    if (!(life.isOver || signal.aborted)) world.onFatal(error);
  };
  const source = watchHead(
    pollBlocks({
      node: seen.node,
      withLogs: true,
      pollIntervalMs: 500,
      nowMs,
      wait,
      silenceMsMax: 3000,
      onLag: () => undefined,
      wsUrl: undefined,
      onSubscriptionBroken: () => undefined,
    }),
    { node: seen.node, nowMs, wait, signal },
  );
  const work = wireWork({
    // What it does not use of a log is not there.
    log: log.connect(life, weather) as Log,
    appender: log.openAppender(life, weather, chance),
    topics: TOPICS,
    node: seen.node,
    source,
    reader: { state: seen.state, protocol: PROTOCOL, onUnreadable: () => undefined },
    state,
    sweep: { endedAtMs: undefined, tookMs: undefined, pairs: 0, facts: 0 },
    settings,
    batchFactsMax,
    logger: silentLogger,
    signal,
    nowMs,
    wait,
    retryFor: () => (once) => retrying(once, { signal, wait, onFailure: () => undefined, onSuccess: () => undefined }),
    onFatal,
    onBlock: ({ number }, facts) => note(() => `${life.name} has processed block ${number}, ${facts} facts`),
    onCatchUp: () => undefined,
  });
  const watch = async () => {
    await work.followed.caughtUp;
    state.phase = 'CATCHING_UP';
    note(() => `${life.name} has read the log`);
    await work.watch();
  };
  for (const each of [watch(), work.sweep()]) each.catch(onFatal);
  return work;
}
