import {
  type BlockAndHead,
  ChainContradiction,
  type HeadSubscription,
  readBlock,
  readBlockAndHead,
  readLogs,
} from '@makerbook/chain';
import { isRetryable } from '../retry.js';
import { triggerTopics } from '../watch/match-logs.js';
import { type CompareOptions, compareNodes } from './compare-nodes.js';
import type { PendingBlocks } from './pending-blocks.js';
import type { BlockSource, SourceBlock } from './source.js';

/** How long a node may lack an announced block, and how often it is asked for the block meanwhile. */
const ANNOUNCED_MS_MAX = 1000;
const ANNOUNCED_POLL_MS = 100;
/** About 15 minutes: a node that answers JSON-RPC may lag behind the one that writes the topic. */
const AHEAD_BLOCKS_MAX = 900;

export interface TakeOptions extends CompareOptions {
  /** False if nothing can be read from the chain: then only headers are requested. */
  readonly withLogs: boolean;
  readonly wait: (ms: number) => Promise<void>;
  readonly signal: AbortSignal;
  /** Called if, while no block is requested, the topic turns out to be of another chain than JSON-RPC. */
  readonly onFatal: (error: Error) => void;
  /** How often the node is asked for a block that no other source announces or gives. */
  readonly pollIntervalMs: number;
  /** A node without a new block for this long is compared with the others. */
  readonly nodeSilenceMsMax: number;
  /**
   * Subscribes to a node's block announcements, with the number if it gives one; undefined: no node announces blocks.
   */
  readonly subscribe: ((onHead: (number: number | undefined) => void) => HeadSubscription) | undefined;
  /** Blocks of a topic; undefined: JSON-RPC gives all. */
  readonly topic: TopicOptions | undefined;
}

export interface TopicOptions {
  readonly name: string;
  readonly pending: PendingBlocks;
  /** How long a block may be missing once a later one is there, before JSON-RPC is asked for it. */
  readonly gapMsMax: number;
  /** How often JSON-RPC is asked whether it is ahead while the topic gives each block first. */
  readonly silenceMsMax: number;
  /** Called for each block that the topic did not give in time. */
  readonly onGap: () => void;
}

/** The block to take next. */
interface Due {
  readonly number: number;
  readonly sinceMs: number;
  /** When a node announced this block or a later one. */
  announcedAtMs?: number | undefined;
  /** When the node last answered without the block or failed, and since when it lacks the block. */
  askedAtMs?: number | undefined;
  missingSinceMs?: number | undefined;
  /** The block from the node, or its failure. */
  given?: SourceBlock | undefined;
  failure?: unknown;
}

/**
 * Takes each block from the source that has it first. The topic gives blocks by itself, the node when asked. `#turnMs`
 * says when to ask: at once for an announced block, at the poll interval while the node gives the blocks, and from time
 * to time while the topic does. An announcement is only a hint.
 */
export class TakenBlocks implements BlockSource {
  readonly #options: TakeOptions;
  readonly #lags: ReturnType<typeof compareNodes>;
  readonly #subscription: HeadSubscription | undefined;
  readonly #watching: Promise<void>;
  #due: Due = { number: 0, sinceMs: 0 };
  #announced = -1;
  #head: number | undefined;
  /** The last head of each endpoint that `#watchHead` asked, keyed by the endpoint's name. */
  readonly #heads = new Map<string, number>();
  /** Endpoints that have not answered `#watchHead` yet. */
  readonly #askedHeads = new Set<string>();
  /** True while the topic gives each block before the node does. */
  #isTopicFirst = true;
  #isTopicVerified = false;
  #asking: Promise<void> | undefined;
  #answeredAtMs: number;
  #turnedAtMs = Number.NEGATIVE_INFINITY;
  #turns = 0;
  #wake: () => void = () => undefined;

  constructor(options: TakeOptions) {
    const { subscribe, topic } = options;
    this.#options = options;
    this.#lags = compareNodes(options);
    this.#answeredAtMs = options.monotonicMs();
    if (topic !== undefined) topic.pending.onBlock = (number) => number === this.#due.number && this.#wake();
    this.#subscription = subscribe?.((number) => this.#hear(number));
    this.#watching = this.#watchHead();
  }

  async next(number: number): Promise<SourceBlock | undefined> {
    const { monotonicMs, wait, pollIntervalMs, topic } = this.#options;
    this.#turns += 1;
    this.#turnedAtMs = monotonicMs();
    if (this.#due.number !== number) {
      this.#due = { number, sinceMs: monotonicMs() };
      if (this.#announced >= number) this.#due.announcedAtMs = monotonicMs();
      topic?.pending.turnTo(number);
    }
    const pending = await this.#take();
    if (pending !== undefined) return pending;
    const news = new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    const turnMs = this.#turnMs() - monotonicMs();
    if (turnMs <= 0) this.#asking ??= this.#ask(this.#due);
    await Promise.race([news, wait(turnMs > 0 && turnMs < pollIntervalMs ? turnMs : pollIntervalMs)]);
    return this.#take();
  }

  headNumber(): number | undefined {
    const newest = this.#options.topic?.pending.newest;
    return newest === undefined ? this.#head : Math.max(newest, this.#head ?? 0);
  }

  isSubscribed(): boolean {
    return this.#subscription?.isOpen() ?? false;
  }

  counts() {
    return { turns: this.#turns, topicSilentSinceMs: this.#options.topic?.pending.lastAtMs };
  }

  async stop(): Promise<void> {
    this.#subscription?.close();
    await this.#watching;
  }

  #hear(number: number | undefined): void {
    this.#announced = number ?? this.#announced;
    // A node that gives no number may mean the due block.
    if ((number ?? this.#due.number) < this.#due.number || this.#due.announcedAtMs !== undefined) return;
    this.#due.announcedAtMs = this.#options.monotonicMs();
    this.#wake();
  }

  /** The due block from the topic, else from the node. Throws the node's failure if no other source gives blocks. */
  async #take(): Promise<SourceBlock | undefined> {
    const { topic, monotonicMs } = this.#options;
    const due = this.#due;
    await this.#verifyTopic();
    const pending = topic?.pending.get(due.number);
    if (pending !== undefined) {
      this.#isTopicFirst = true;
      return pending;
    }
    if (due.given !== undefined) {
      const newest = topic?.pending.newest ?? 0;
      if (newest >= due.number || newest < due.number - 1) topic?.onGap();
      if (newest < due.number) this.#isTopicFirst = false;
      return due.given;
    }
    const { failure } = due;
    if (failure === undefined) return undefined;
    const isWaiting = topic !== undefined && monotonicMs() - due.sinceMs < topic.silenceMsMax;
    if (isWaiting && isRetryable(failure)) return undefined;
    // Let a retry ask at once.
    Object.assign(due, { failure: undefined, askedAtMs: undefined });
    throw failure;
  }

  /** When to ask the node for the due block. */
  #turnMs(): number {
    const { monotonicMs, pollIntervalMs, topic } = this.#options;
    const { sinceMs, announcedAtMs, askedAtMs } = this.#due;
    if (announcedAtMs !== undefined && (askedAtMs === undefined || askedAtMs < announcedAtMs)) return announcedAtMs;
    if (askedAtMs !== undefined) {
      const isExpected = announcedAtMs !== undefined && monotonicMs() - announcedAtMs < ANNOUNCED_MS_MAX;
      return askedAtMs + (isExpected ? Math.min(pollIntervalMs, ANNOUNCED_POLL_MS) : pollIntervalMs);
    }
    if (topic === undefined || !this.#isTopicFirst) return sinceMs;
    // Ask once the topic has had time to give the block.
    const missingMs = topic.pending.missingSinceMs();
    if (missingMs !== undefined) return missingMs + topic.gapMsMax;
    return Math.max(sinceMs, this.#answeredAtMs + topic.silenceMsMax);
  }

  async #ask(due: Due): Promise<void> {
    const { node, monotonicMs } = this.#options;
    try {
      const answer = await readBlockAndHead(node, due.number);
      this.#head = Math.max(answer.headNumber, answer.block?.number ?? 0);
      due.given = await this.#blockOf(answer);
      due.missingSinceMs ??= due.given === undefined ? monotonicMs() : undefined;
      due.failure = undefined;
      const isDoubtful = due.given === undefined && this.#isDoubtful(due, answer.headNumber);
      if (isDoubtful) void this.#lags(due.number, answer).then((lags) => lags && this.#askAgain(due));
    } catch (failure) {
      due.failure = failure;
    }
    due.askedAtMs = monotonicMs();
    this.#answeredAtMs = monotonicMs();
    this.#asking = undefined;
    this.#wake();
  }

  #askAgain(due: Due): void {
    due.askedAtMs = undefined;
    this.#wake();
  }

  async #blockOf({ block, logsBloom, endpoint }: BlockAndHead): Promise<SourceBlock | undefined> {
    const { node, withLogs } = this.#options;
    if (block === undefined) return undefined;
    const logs = withLogs ? await readLogs(node, { ...block, logsBloom }, { topics: triggerTopics }) : [];
    return { header: block, endpoint, logsBloom, logs };
  }

  /** True if a node with this head and without the due block may lag behind the others. */
  #isDoubtful({ number, announcedAtMs, missingSinceMs }: Due, headNumber: number): boolean {
    const { monotonicMs, nodeSilenceMsMax } = this.#options;
    const sinceMs = (atMs: number | undefined) => (atMs === undefined ? 0 : monotonicMs() - atMs);
    // The block before was seen, so another node has it.
    if (headNumber < number - 1) return true;
    return sinceMs(announcedAtMs) >= ANNOUNCED_MS_MAX || sinceMs(missingSinceMs) >= nodeSilenceMsMax;
  }

  /** Asks all endpoints for their heads while no block is requested: on a standby, or if the block loop is stuck. */
  async #watchHead(): Promise<void> {
    const { monotonicMs, wait, signal, pollIntervalMs, onFatal } = this.#options;
    while (!signal.aborted) {
      await wait(pollIntervalMs);
      // A working block loop turns in each interval.
      if (signal.aborted || monotonicMs() - this.#turnedAtMs < 2 * pollIntervalMs) continue;
      this.#askHeads();
      await this.#verifyTopic().catch((error) => isRetryable(error) || onFatal(error));
    }
  }

  /** Takes each head as it comes, because an endpoint may hang. Asks resting endpoints only if all rest. */
  #askHeads(): void {
    const all = this.#options.node.endpoints();
    const awake = all.filter((each) => !each.isResting());
    for (const each of awake.length > 0 ? awake : all) {
      const { name } = each;
      if (this.#askedHeads.has(name)) continue;
      this.#askedHeads.add(name);
      void readBlock(each, 'latest')
        .then(
          (block) => {
            if (block === undefined) return;
            this.#heads.set(name, block.number);
            this.#head = Math.max(...this.#heads.values());
          },
          () => undefined,
        )
        .finally(() => this.#askedHeads.delete(name));
    }
  }

  /**
   * Detects a topic of another network by one of its blocks. Its block numbers alone would keep the watcher waiting.
   */
  async #verifyTopic(): Promise<void> {
    const { topic, node } = this.#options;
    const first = topic?.pending.first;
    if (topic === undefined || first === undefined || this.#isTopicVerified) return;
    const { number, hash } = first.header;
    const { block, headNumber } = await readBlockAndHead(node, number);
    const ahead = number - headNumber;
    if (block === undefined && ahead <= AHEAD_BLOCKS_MAX) return;
    if (block === undefined)
      throw new ChainContradiction(`${topic.name} is ${ahead} blocks ahead of JSON-RPC: is it of another network?`);
    if (block.hash !== hash) {
      throw new ChainContradiction(`block ${number} is ${hash} in ${topic.name}, but ${block.hash} by JSON-RPC`);
    }
    this.#isTopicVerified = true;
  }
}
