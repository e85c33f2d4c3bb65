import { logsOf } from '@makerbook/chain';
import { matchLogs, WatchedSet } from '@makerbook/chain-watcher';
import type { MakerObserved } from '@makerbook/contracts-events';
import { eventTopics } from '@makerbook/contracts-evm';
import type { Hex } from '@makerbook/contracts-primitives';

/** What watching so many pairs costs, measured in a process of its own: `node --expose-gc measure-watching.js 10000`. */
export interface WatchingCost {
  readonly pairs: number;
  /** Memory that the watched set holds, by pair with its order. */
  readonly bytesPerPair: number;
  readonly rssMegabytes: number;
  /** CPU for adding an order that opens a pair, and for noting its first reading. */
  readonly openMicroseconds: number;
  /** CPU for a block's time, at which nothing expires. */
  readonly clockMicroseconds: number;
  /** CPU for matching a block of so many logs that touch nobody (every second one of a watched token). */
  readonly blockLogs: number;
  readonly matchMicroseconds: number;
  /** The same for a block whose every log touches a watched pair. */
  readonly matchTouchingMicroseconds: number;
  /** The measure of the same run: reading the same block's logs from the node's JSON. */
  readonly parseMicroseconds: number;
}

type WatchedOrder = Parameters<WatchedSet['add']>[0];

const NOW_SECONDS = 1_700_000_000;
const EXPIRES_AT_SECONDS = 1_800_000_000;
const TOKENS = 50;
const BLOCK_LOGS = 400;
const protocol: Hex = `0x${'ee'.repeat(20)}`;
const word = (seed: number, bytes: number): Hex => {
  // Spread like hashes, and different for different seeds.
  let state = (seed + 1) * 2654435761;
  let digits = seed.toString(16).padStart(8, '0');
  while (digits.length < bytes * 2) {
    state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9;
    digits += (state >>> 0).toString(16).padStart(8, '0');
  }
  return `0x${digits.slice(0, bytes * 2)}`;
};
const makerOf = (n: number) => word(n, 20);
const tokenOf = (n: number) => word(1_000_000_000 + (n % TOKENS), 20);

const watchedOrder = (n: number): WatchedOrder => ({
  orderHash: word(n, 32),
  maker: makerOf(n),
  makingToken: tokenOf(n),
  expiresAtSeconds: EXPIRES_AT_SECONDS + (n % 100_000),
});

const reading = ({ maker, makingToken: token, orderHash }: WatchedOrder): MakerObserved => ({
  type: 'MakerObserved',
  maker,
  block: { number: 1, hash: word(1, 32), timestamp: NOW_SECONDS },
  cause: { kind: 'read', occasion: 'ORDER' },
  nonce: '0x0',
  funds: [{ token, balance: '0x56bc75e2d63100001', allowance: '0x56bc75e2d63100000' }],
  orders: [{ orderHash, filled: '0x0', cancelled: false }],
});

/** The JSON of a block's logs: transfers between strangers, or from watched makers. */
function blockJson(touching: boolean, pairs: number): string {
  const logs = Array.from({ length: BLOCK_LOGS }, (_, n) => {
    const who = touching ? Math.floor((n * pairs) / BLOCK_LOGS) : 2_000_000_000 + n;
    return {
      address: touching || n % 2 === 0 ? tokenOf(who) : word(3_000_000_000 + n, 20),
      topics: [eventTopics.transfer, topicOf(makerOf(who)), topicOf(word(4_000_000_000 + n, 20))],
      data: `0x${'0'.repeat(63)}1`,
      blockNumber: '0x10',
      blockHash: word(1, 32),
      transactionHash: word(n, 32),
      transactionIndex: '0x1',
      logIndex: `0x${n.toString(16)}`,
      removed: false,
    };
  });
  return JSON.stringify(logs);
}
const topicOf = (account: Hex): Hex => `0x${'0'.repeat(24)}${account.slice(2)}`;

function cpuMicroseconds(times: number, work: () => void): number {
  for (let n = 0; n < times / 4; n += 1) work();
  const before = process.cpuUsage();
  for (let n = 0; n < times; n += 1) work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / times;
}

function heldBytes(): number {
  globalThis.gc?.();
  globalThis.gc?.();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

function measureWatching(pairs: number): WatchingCost {
  const before = heldBytes();
  const watched = new WatchedSet();
  const openBefore = process.cpuUsage();
  for (let n = 0; n < pairs; n += 1) {
    const order = watchedOrder(n);
    watched.add(order, { sinceMs: 0, trace: undefined });
    watched.noteObserved(reading(order));
  }
  const open = process.cpuUsage(openBefore);
  let seconds = NOW_SECONDS;
  const processBlock = () => {
    seconds += 1;
    watched.expire(seconds);
  };
  const heldPerPair = (heldBytes() - before) / pairs;
  const clockMicroseconds = cpuMicroseconds(200, processBlock);
  const strangers = blockJson(false, pairs);
  const touching = blockJson(true, pairs);
  const strangerLogs = logsOf(JSON.parse(strangers));
  const touchingLogs = logsOf(JSON.parse(touching));
  const touchedPairs = matchLogs(touchingLogs, watched, protocol).makers.size;
  const strangePairs = matchLogs(strangerLogs, watched, protocol).makers.size;
  if (watched.sizes().pairs !== pairs || touchedPairs !== Math.min(pairs, BLOCK_LOGS) || strangePairs !== 0) {
    throw new Error(
      `${watched.sizes().pairs} pairs, ${touchedPairs} and ${strangePairs} touched: not what was laid out`,
    );
  }
  return {
    pairs,
    bytesPerPair: Math.round(heldPerPair),
    rssMegabytes: Math.round(process.memoryUsage().rss / 1e6),
    openMicroseconds: (open.user + open.system) / pairs,
    clockMicroseconds,
    blockLogs: BLOCK_LOGS,
    matchMicroseconds: cpuMicroseconds(400, () => matchLogs(strangerLogs, watched, protocol)),
    matchTouchingMicroseconds: cpuMicroseconds(400, () => matchLogs(touchingLogs, watched, protocol)),
    parseMicroseconds: cpuMicroseconds(400, () => logsOf(JSON.parse(strangers))),
  };
}

console.log(JSON.stringify(measureWatching(Number(process.argv[2]))));
