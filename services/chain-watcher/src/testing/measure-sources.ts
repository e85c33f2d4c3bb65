import { setTimeout as pause } from 'node:timers/promises';
import { createChance, type ToldFaults, until } from '@makerbook/parts';
import { runWatcherProcess, type WatcherProcess } from './run-watcher.js';
import type { Stage } from './stage-chain.js';
import { TopicWriter, type WriterFaults } from './write-topic.js';

/** The sources that two watchers take blocks from, beside the JSON-RPC of one node. */
export interface Sources {
  readonly isAnnounced?: boolean;
  readonly hasTopic?: boolean;
  /** A second node, asked if the first fails. */
  readonly hasSpare?: boolean;
}

/** The state of the sources for some blocks. */
export interface Phase {
  readonly what: string;
  readonly node?: Partial<ToldFaults>;
  readonly spare?: Partial<ToldFaults>;
  readonly topic?: Partial<WriterFaults> | 'stands';
  /** The source that should give the blocks. The delay counts from when this source has a block. */
  readonly from: 'announcements' | 'topic' | 'polling';
}

export interface MeasuredPhase {
  readonly p50Ms: number;
  readonly worstMs: number;
  /** Turns of the watcher that turned more often. */
  readonly turnsPerBlock: number;
  readonly takeOvers: number;
}

export interface MeasureOptions {
  readonly blocks: number;
  readonly blockMs: number;
  readonly pollMs: number;
}

const TOPIC_PARTITIONS = 3;
/** The delay of a Kaia node on its own machine. */
const TOPIC_LATE_MS = 25;
const SEGMENT_BYTES = 900_000;
/** After so many blocks the faults of the phase before no longer show. */
const SETTLED_BLOCKS = 3;

/**
 * Runs two watchers on these sources, and measures for each phase how long after its source a block is in every
 * partition of the log.
 */
export async function measureSources(
  stage: Stage,
  sources: Sources,
  phases: readonly Phase[],
  options: MeasureOptions,
): Promise<readonly MeasuredPhase[]> {
  const closing: (() => unknown)[] = [];
  try {
    const measure = await openSources(stage, sources, options, closing);
    const measured: MeasuredPhase[] = [];
    for (const phase of phases) measured.push(await measure(phase));
    return measured;
  } finally {
    for (const close of closing.reverse()) await close();
  }
}

async function openSources(
  stage: Stage,
  { isAnnounced = false, hasTopic = false, hasSpare = false }: Sources,
  { blocks, blockMs, pollMs }: MeasureOptions,
  closing: (() => unknown)[],
) {
  const node = await stage.anvil.node.beside();
  closing.push(node.close);
  const spare = await stage.anvil.node.beside();
  closing.push(spare.close);
  const madeAtMs = new Map<number, number>();
  closing.push(node.onBlock((header) => madeAtMs.set(Number(header['number']), performance.now())));
  const writtenAtMs = new Map<number, number>();
  const topic = `${stage.prefix}klaytn.chaindatafetcher.en-0.blockgroup.v1`;
  let writer: TopicWriter | undefined;
  if (hasTopic) {
    await stage.log.createTopics([{ name: topic, partitions: TOPIC_PARTITIONS, replicationFactor: 1, config: {} }]);
    const written = new TopicWriter({
      ...{ log: stage.log, topic, partitions: TOPIC_PARTITIONS, segmentBytes: SEGMENT_BYTES },
      ...{ chain: stage.provider, chance: createChance(1) },
      onWritten: (number) => writtenAtMs.set(number, performance.now()),
    });
    writer = written;
    closing.push(
      () => written.close(),
      node.onBlock(() => written.wake()),
    );
  }
  const settings = {
    RPC_URL: hasSpare ? `${node.url},${spare.url}` : node.url,
    RPC_WS_URL: isAnnounced ? node.wsUrl : '',
    KAIA_TOPIC: hasTopic ? topic : '',
    POLL_INTERVAL_MS: String(pollMs),
    TAKEOVER_MS: '2000',
  };
  const watchers: WatcherProcess[] = [];
  for (let count = 0; count < 2; count += 1) {
    const watcher = await runWatcherProcess(stage, settings);
    watchers.push(watcher);
    closing.push(watcher.kill);
  }
  const sum = async (series: string) =>
    (await Promise.all(watchers.map(({ ops }) => ops.metric(series)))).reduce((a, b) => a + b, 0);
  const mine = async (count: number) => {
    for (let made = 0; made < count; made += 1) {
      await stage.mine();
      await pause(blockMs);
    }
    await stage.settled();
  };
  for (const { ops } of watchers) await until('it is ready', async () => (await ops.ask('/readyz')).status === 200);
  await mine(SETTLED_BLOCKS);

  return async (phase: Phase): Promise<MeasuredPhase> => {
    node.tell(phase.node ?? {});
    spare.tell(phase.spare ?? {});
    if (phase.topic === 'stands') writer?.stop();
    else {
      writer?.tell({ lateMs: TOPIC_LATE_MS, ...phase.topic });
      writer?.start('checkpoint');
    }
    const isHeard = isAnnounced && phase.node?.isAway !== true;
    if (isHeard) await until('blocks are announced', async () => (await sum('open_subscriptions')) === 2);
    await mine(SETTLED_BLOCKS);
    const first = (await stage.provider.getBlockNumber()) + 1;
    const before = await Promise.all(watchers.map(({ ops }) => ops.metric('block_turns_total')));
    const takeOvers = await sum('takeovers_total');
    await mine(blocks);
    const turns = await Promise.all(watchers.map(({ ops }) => ops.metric('block_turns_total')));
    const sourceAtMs = phase.from === 'topic' ? writtenAtMs : madeAtMs;
    const delays = Array.from({ length: blocks }, (_, index) => {
      return stage.processedAtMs(first + index) - (sourceAtMs.get(first + index) ?? Number.NaN);
    }).sort((a, b) => a - b);
    return {
      p50Ms: delays[Math.floor(blocks / 2)] ?? Number.NaN,
      worstMs: delays.at(-1) ?? Number.NaN,
      turnsPerBlock: Math.max(...turns.map((count, index) => count - (before[index] ?? 0))) / blocks,
      takeOvers: (await sum('takeovers_total')) - takeOvers,
    };
  };
}
