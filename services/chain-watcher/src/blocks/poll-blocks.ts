import {
  type BlockAndHead,
  type HeadSubscription,
  type Node,
  readBlockAndHead,
  readLogs,
  subscribeHeads,
} from '@makerbook/chain';
import { triggerTopics } from '../watch/match-logs.js';
import { findAhead } from './find-ahead.js';
import type { BlockSource } from './source.js';

export interface PollOptions {
  readonly node: Node;
  /** False where nothing can be read from the chain: then only headers are asked for. */
  readonly withLogs: boolean;
  readonly pollIntervalMs: number;
  readonly nowMs: () => number;
  readonly wait: (ms: number) => Promise<void>;
  /** A node that has no new block for so long is compared with the others. */
  readonly silenceMsMax: number;
  /** Called once for a node that lags, with what it has and another one; again only after it has had a block that is due. */
  readonly onLag: (lag: Readonly<Record<string, string | number>>) => void;
  /** `ws://` of a node that announces blocks; undefined: blocks are found by polling alone. */
  readonly wsUrl: string | undefined;
  readonly onSubscriptionBroken: (reason: string) => void;
}

export interface PolledBlocks extends BlockSource {
  /** True while a node announces its blocks. */
  isSubscribed(): boolean;
}

/**
 * Blocks over JSON-RPC: one request for the header, one for its logs by its hash, however many makers are watched. A
 * subscription is a hint alone: polling goes on beside it, so that nothing depends on it. A node that lacks a block for
 * longer than it should is compared with the others.
 */
export function pollBlocks(options: PollOptions): PolledBlocks {
  const { node, withLogs, pollIntervalMs, nowMs, wait, silenceMsMax, wsUrl, onSubscriptionBroken, onLag } = options;
  let head: number | undefined;
  let hasNews = false;
  let wake: () => void = () => undefined;
  const notify = () => {
    hasNews = true;
    wake();
  };
  let announced = -1;
  /** The block that was asked for last: since when it is missing, and since when a node has announced it. */
  let due: Due = { number: 0, missingSinceMs: undefined, announcedAtMs: undefined };
  const onHead = (number: number | undefined) => {
    announced = number ?? announced;
    if (announced >= due.number) due.announcedAtMs ??= nowMs();
    notify();
  };
  const subscription: HeadSubscription | undefined =
    wsUrl === undefined ? undefined : subscribeHeads({ url: wsUrl, onHead, onBroken: onSubscriptionBroken });

  /** True if a node with this head, and without the block that is due, may lag behind the others. */
  const isDoubtful = (headNumber: number) => {
    const { number, missingSinceMs = nowMs(), announcedAtMs = nowMs() } = due;
    // The block before was seen, on another node then.
    if (headNumber < number - 1) return true;
    return nowMs() - announcedAtMs >= ANNOUNCED_MS_MAX || nowMs() - missingSinceMs >= silenceMsMax;
  };

  let comparedAtMs = Number.NEGATIVE_INFINITY;
  let lagging: string | undefined;
  /**
   * A node that answers but has no new blocks fails no call, so no call would ever go to the next one. It is passed over for
   * some seconds where another one is further.
   */
  const compare = async (number: number, { endpoint, headNumber }: BlockAndHead) => {
    if (nowMs() - comparedAtMs < COMPARE_MS_MIN) return;
    comparedAtMs = nowMs();
    const ahead = await findAhead(node, number, endpoint);
    if (ahead === undefined) return;
    node.passOver(endpoint);
    if (lagging !== endpoint) {
      onLag({ endpoint, headNumber, otherEndpoint: ahead.endpoint, otherHeadNumber: ahead.headNumber });
    }
    lagging = endpoint;
    notify();
  };

  return {
    next: async (number) => {
      if (due.number !== number) {
        due = { number, missingSinceMs: undefined, announcedAtMs: announced >= number ? nowMs() : undefined };
      }
      hasNews = false;
      const asked = await readBlockAndHead(node, number);
      const { block: header, logsBloom, headNumber, endpoint } = asked;
      head = Math.max(headNumber, header?.number ?? 0);
      if (header === undefined) {
        due.missingSinceMs ??= nowMs();
        if (isDoubtful(headNumber)) void compare(number, asked);
        return undefined;
      }
      if (endpoint === lagging) lagging = undefined;
      if (!withLogs) return { header, endpoint, logsBloom, logs: [] };
      const logs = await readLogs(node, { ...header, logsBloom }, { topics: triggerTopics });
      return { header, endpoint, logsBloom, logs };
    },
    waitForMore: async () => {
      if (hasNews) return;
      const isExpected = due.announcedAtMs !== undefined && nowMs() - due.announcedAtMs < ANNOUNCED_MS_MAX;
      const news = new Promise<void>((resolve) => {
        wake = resolve;
      });
      await Promise.race([wait(isExpected ? Math.min(pollIntervalMs, ANNOUNCED_POLL_MS) : pollIntervalMs), news]);
    },
    headNumber: () => head,
    isSubscribed: () => subscription?.isOpen() ?? false,
    stop: async () => subscription?.close(),
  };
}

interface Due {
  readonly number: number;
  missingSinceMs: number | undefined;
  announcedAtMs: number | undefined;
}

/** A block that is announced may be so long in coming to the node that is asked for it, and is asked for so often. */
const ANNOUNCED_MS_MAX = 1000;
const ANNOUNCED_POLL_MS = 100;
const COMPARE_MS_MIN = 1000;
