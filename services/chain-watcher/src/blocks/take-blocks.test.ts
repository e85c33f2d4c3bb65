import { describe, expect, test } from '@jest/globals';
import { type BlockHeader, ChainContradiction, type Node, type RpcRequest, RpcUnavailable } from '@makerbook/chain';
import { VirtualTime } from '@makerbook/parts';
import { PendingBlocks } from './pending-blocks.js';
import { TakenBlocks } from './take-blocks.js';

/** A source: how late it has each block, and when it is down. */
interface Source {
  readonly lateMs: (number: number) => number;
  readonly isAway?: (atMs: number) => boolean;
}
interface Sources {
  readonly node: Source;
  /** Another node, asked if the first fails or is passed over. */
  readonly spare?: Source;
  readonly announced?: Source;
  readonly topic?: Source & {
    readonly lacks?: (number: number) => boolean;
    readonly times?: number;
    readonly foreign?: BlockHeader;
  };
}

const BLOCK_MS = 1000;
const FIRST = 100;
const POLL_MS = 500;
const late = (ms: number) => () => ms;
const away = (fromMs: number, toMs: number) => (atMs: number) => atMs >= fromMs && atMs < toMs;

const hashOf = (number: number) => `0x${number.toString(16).padStart(64, '0')}` as const;
const headerAt = (number: number): BlockHeader => {
  return { number, hash: hashOf(number), parentHash: hashOf(number - 1), timestamp: number };
};
const rpcBlock = (number: number) => {
  const { hash, parentHash } = headerAt(number);
  return { number: `0x${number.toString(16)}`, hash, parentHash, timestamp: `0x${number.toString(16)}` };
};

/** Follows 60 blocks, one a second; block 100 + n is made n seconds after the start. */
async function follow({ node, spare, announced, topic }: Sources) {
  const time = new VirtualTime(0);
  const madeAtMs = (number: number) => (number - FIRST) * BLOCK_MS;
  const at = (ms: number, work: () => void) => time.after(ms - time.nowMs, work);
  let calls = 0;
  let gaps = 0;
  const pending = new PendingBlocks({ blocksMax: 500, monotonicMs: () => time.nowMs });
  let hear: (number: number) => void = () => undefined;
  for (let number = FIRST + 1; number <= FIRST + 70; number += 1) {
    const heard = announced && madeAtMs(number) + announced.lateMs(number);
    if (heard !== undefined && !announced?.isAway?.(heard)) at(heard, () => hear(number));
    const written = topic && madeAtMs(number) + topic.lateMs(number);
    if (written === undefined || topic?.isAway?.(written) || topic?.lacks?.(number)) continue;
    for (let times = topic?.times ?? 1; times > 0; times -= 1) {
      at(written, () => pending.add({ header: headerAt(number), logs: [], logsBloom: undefined }));
    }
  }
  const foreign = topic?.foreign;
  if (foreign !== undefined) at(5000, () => pending.add({ header: foreign, logs: [], logsBloom: undefined }));
  let passedOverUntilMs = 0;
  const endpointOf = (name: string, { lateMs, isAway }: Source) => {
    const head = () => {
      let number = Math.floor(time.nowMs / BLOCK_MS) + FIRST;
      while (madeAtMs(number) + lateMs(number) > time.nowMs) number -= 1;
      return number;
    };
    const answer = ({ method, params }: RpcRequest) => {
      if (method === 'eth_blockNumber') return `0x${head().toString(16)}`;
      return Number(params[0]) <= head() ? rpcBlock(Number(params[0])) : null;
    };
    const callAll = async <T>(requests: readonly RpcRequest[], read: (answers: unknown[], from: string) => T) => {
      calls += 1;
      await time.wait(2);
      if (isAway?.(time.nowMs)) throw new RpcUnavailable('the node is down');
      return read(requests.map(answer), name);
    };
    return { name, callAll, isResting: () => false };
  };
  const first = endpointOf('node', node);
  const second = spare && endpointOf('spare', spare);
  const asked: Pick<Node, 'callAll' | 'endpoints' | 'passOver'> = {
    endpoints: () => (second === undefined ? [] : [first, second]) as unknown as ReturnType<Node['endpoints']>,
    passOver: () => {
      passedOverUntilMs = time.nowMs + 5000;
    },
    callAll: (...call) => (second !== undefined && time.nowMs < passedOverUntilMs ? second : first).callAll(...call),
  };
  const source = new TakenBlocks({
    node: asked as unknown as Node,
    withLogs: false,
    monotonicMs: () => time.nowMs,
    wait: (ms) => time.wait(ms),
    signal: new AbortController().signal,
    onFatal: () => undefined,
    pollIntervalMs: POLL_MS,
    nodeSilenceMsMax: 3000,
    onLag: () => undefined,
    subscribe:
      announced &&
      ((onHead) => {
        hear = onHead;
        return { isOpen: () => true, close: () => undefined };
      }),
    topic: topic && { name: 'topic', pending, gapMsMax: 300, silenceMsMax: 3000, onGap: () => (gaps += 1) },
  });
  const delays: number[] = [];
  let turns = 0;
  let failures = 0;
  const run = async () => {
    for (let number = FIRST + 1; number <= FIRST + 60; ) {
      turns += 1;
      const block = await source.next(number).catch(async (error) => {
        if (!(error instanceof RpcUnavailable)) throw error;
        failures += 1;
        await time.wait(100);
        return undefined;
      });
      if (block === undefined) continue;
      expect(block.header).toEqual(headerAt(number));
      delays.push(time.nowMs - madeAtMs(number));
      number += 1;
    }
  };
  await time.runUntil(run());
  /** The longest delay of the blocks made between these seconds. */
  const worst = (from = 0, to = 60) => Math.max(...delays.slice(from, to));
  const median = [...delays].sort((a, b) => a - b)[30] ?? Number.NaN;
  return { worst, median, delays, turnsPerBlock: turns / 60, callsPerBlock: calls / 60, gaps, failures };
}

describe('blocks come as fast as the fastest source allows', () => {
  test.each<[string, Sources, number, number]>([
    ['the topic', { node: { lateMs: late(0) }, topic: { lateMs: late(25) } }, 25, 25],
    ['announcements', { node: { lateMs: late(10) }, announced: { lateMs: late(10) } }, 12, 12],
    ['polling', { node: { lateMs: late(10) } }, 0.6 * POLL_MS, POLL_MS + 4],
    [
      'the topic, behind announcements',
      { node: { lateMs: late(0) }, announced: { lateMs: late(5) }, topic: { lateMs: late(25) } },
      7,
      7,
    ],
    [
      'the topic, before announcements',
      { node: { lateMs: late(30) }, announced: { lateMs: late(40) }, topic: { lateMs: late(25) } },
      25,
      25,
    ],
    [
      'a topic that is further than JSON-RPC',
      { node: { lateMs: late(5300) }, announced: { lateMs: late(5300) }, topic: { lateMs: late(20) } },
      20,
      20,
    ],
    [
      'announcements, before a node has the block',
      { node: { lateMs: late(90) }, announced: { lateMs: late(5) } },
      110,
      110,
    ],
  ])('%s', async (_name, sources, medianMs, worstMs) => {
    const { median, worst, turnsPerBlock } = await follow(sources);
    expect(median).toBeLessThanOrEqual(medianMs);
    expect(worst(8)).toBeLessThanOrEqual(worstMs);
    expect(turnsPerBlock).toBeLessThanOrEqual(8);
  });
});

describe('a topic', () => {
  test('that gives all blocks spares the node: it gets about one call a block', async () => {
    const { callsPerBlock, gaps } = await follow({ node: { lateMs: late(0) }, topic: { lateMs: late(25) } });
    expect(callsPerBlock).toBeLessThanOrEqual(1.2);
    expect(gaps).toBe(0);
  });

  test('that is always late does not hold up what JSON-RPC has', async () => {
    const { worst, gaps } = await follow({ node: { lateMs: late(0) }, topic: { lateMs: late(2500) } });
    expect(worst(5)).toBeLessThanOrEqual(POLL_MS + 4);
    expect(gaps).toBeGreaterThan(50);
  });

  test('that lacks some blocks, and repeats and shuffles the rest, still has each block taken once', async () => {
    const topic = {
      lateMs: (number: number) => (number % 7) * 150,
      lacks: (number: number) => number % 10 === 0,
      times: 3,
    };
    const { worst, gaps } = await follow({ node: { lateMs: late(0) }, topic });
    expect(worst(5)).toBeLessThanOrEqual(BLOCK_MS + 900 + 300);
    expect(gaps).toBeGreaterThanOrEqual(3);
  });

  test('that dies is replaced by JSON-RPC, and followed again when it is back', async () => {
    const topic = { lateMs: late(25), isAway: away(10_000, 30_000) };
    const { worst, callsPerBlock } = await follow({ node: { lateMs: late(0) }, topic });
    expect(worst(1, 9)).toBe(25);
    expect(worst(9, 13)).toBeLessThanOrEqual(3000 + POLL_MS);
    expect(worst(13, 30)).toBeLessThanOrEqual(POLL_MS + 4);
    expect(worst(31)).toBe(25);
    expect(callsPerBlock).toBeLessThanOrEqual(3);
  });

  test('carries on alone while the node is down, with or without announcements', async () => {
    for (const announced of [undefined, { lateMs: late(5) }]) {
      const node = { lateMs: late(0), isAway: away(10_000, 50_000) };
      const { worst, failures, turnsPerBlock } = await follow({
        node,
        topic: { lateMs: late(25) },
        ...(announced && { announced }),
      });
      expect(worst(5)).toBe(25);
      expect(failures).toBe(0);
      expect(turnsPerBlock).toBeLessThanOrEqual(12);
    }
  });

  test.each([
    ['another block of this number', FIRST + 3],
    ['a number far beyond the head', FIRST + 5000],
  ])('of another chain is a contradiction: it has %s', async (_what, number) => {
    const foreign = { ...headerAt(number), hash: hashOf(number + 1_000_000) };
    const following = follow({ node: { lateMs: late(0) }, topic: { lateMs: late(25), isAway: () => true, foreign } });
    await expect(following).rejects.toThrow(ChainContradiction);
  });
});

test('while the node and the topic are down, the node’s failure is reported, and both are tried again', async () => {
  const isAway = away(10_000, 40_000);
  const { worst, failures } = await follow({ node: { lateMs: late(0), isAway }, topic: { lateMs: late(25), isAway } });
  expect(failures).toBeGreaterThan(5);
  expect(worst(1, 9)).toBe(25);
  expect(worst(42)).toBe(25);
});

test('announcements that stop are replaced by polling', async () => {
  const announced = { lateMs: late(5), isAway: away(10_000, 30_000) };
  const { worst } = await follow({ node: { lateMs: late(0) }, announced });
  expect(worst(0, 9)).toBeLessThanOrEqual(7);
  expect(worst(10, 30)).toBeLessThanOrEqual(POLL_MS + 4);
  expect(worst(31)).toBeLessThanOrEqual(7);
});

test('announcements of blocks that nobody has yet do not make the loop spin', async () => {
  const announced = { lateMs: (number: number) => -900 + (number % 3) * 10 };
  const { turnsPerBlock } = await follow({ node: { lateMs: late(0) }, announced, topic: { lateMs: late(3_000_000) } });
  expect(turnsPerBlock).toBeLessThanOrEqual(24);
});

test('a preferred node that stays some blocks behind holds up no block, however often it is tried again', async () => {
  const lateMs = (number: number) => (number * 397) % 700;
  const { delays } = await follow({ node: { lateMs: late(3300) }, spare: { lateMs } });
  const behind = delays.map((delay, index) => delay - lateMs(FIRST + 1 + index));
  expect(Math.max(...behind.slice(5))).toBeLessThanOrEqual(POLL_MS + 14);
});

test('while nobody asks for blocks, the head comes from the node that answers, even if another one hangs', async () => {
  const time = new VirtualTime(0);
  const stopping = new AbortController();
  const asked: string[] = [];
  const endpointOf = (name: string, answerMs: number) => ({
    name,
    isResting: () => false,
    callAll: async <T>(requests: readonly RpcRequest[], read: (answers: unknown[], from: string) => T) => {
      asked.push(name);
      await time.wait(answerMs);
      return read(
        requests.map(() => rpcBlock(FIRST + Math.floor(time.nowMs / BLOCK_MS))),
        name,
      );
    },
  });
  const endpoints = [endpointOf('hangs', 1_000_000), endpointOf('answers', 2)];
  const source = new TakenBlocks({
    node: { endpoints: () => endpoints } as unknown as Node,
    withLogs: false,
    monotonicMs: () => time.nowMs,
    wait: (ms) => time.wait(ms),
    signal: stopping.signal,
    onFatal: () => undefined,
    pollIntervalMs: POLL_MS,
    nodeSilenceMsMax: 3000,
    onLag: () => undefined,
    subscribe: undefined,
    topic: undefined,
  });
  await time.runUntil(time.wait(10_100));
  expect(source.headNumber()).toBe(FIRST + 10);
  expect(asked.filter((name) => name === 'hangs')).toHaveLength(1);
  stopping.abort();
});
