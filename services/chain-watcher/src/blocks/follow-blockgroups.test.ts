import { beforeEach, describe, expect, test } from '@jest/globals';
import type { BlockHeader } from '@makerbook/chain';
import type { FollowOptions, Log, StoredRecord } from '@makerbook/kafka';
import { silentLogger } from '@makerbook/telemetry';
import { cutBlockgroup } from '../testing/encode-blockgroup.js';
import { Blockgroups } from './follow-blockgroups.js';
import type { BlockSource } from './source.js';

const SILENCE_MS_MAX = 3000;
const GAP_MS_MAX = 300;

const headerAt = (number: number): BlockHeader => ({
  number,
  hash: `0x${number.toString(16).padStart(64, '0')}`,
  parentHash: `0x${(number - 1).toString(16).padStart(64, '0')}`,
  timestamp: number,
});

let nowMs: number;
/** The newest block of JSON-RPC. */
let head: number;
let gapBlocks: number[];
let source: BlockSource;
let onRecords: FollowOptions['onRecords'];

beforeEach(() => {
  nowMs = 1_000_000;
  head = 0;
  gapBlocks = [];
  let filling = 0;
  source = new Blockgroups({
    log: {
      followTopic: (options: FollowOptions) => {
        onRecords = options.onRecords;
        return { stop: async () => undefined };
      },
    } as unknown as Log,
    topic: 'topic',
    gaps: {
      next: async (number) => {
        filling = number;
        return number > head ? undefined : { header: headerAt(number), logsBloom: undefined, logs: [] };
      },
      waitForMore: () => Promise.resolve(),
      headNumber: () => head,
      stop: () => Promise.resolve(),
    },
    logger: silentLogger,
    nowMs: () => nowMs,
    wait: () => Promise.resolve(),
    gapMsMax: GAP_MS_MAX,
    silenceMsMax: SILENCE_MS_MAX,
    blocksMax: 500,
    onGap: () => gapBlocks.push(filling),
  });
});

const write = (number: number, transactions: unknown = []) => {
  const { hash, parentHash, timestamp } = headerAt(number);
  const header = { number: `0x${number.toString(16)}`, hash, parentHash, timestamp: `0x${timestamp.toString(16)}` };
  const message = Buffer.from(JSON.stringify({ blockNumber: number, result: { ...header, transactions } }));
  const records = cutBlockgroup(number, message, { segmentBytes: 100, producerId: 'producer' });
  onRecords(
    0,
    records.map((record): StoredRecord => ({ topic: 'topic', offset: 0n, timestampMs: 0, ...record })),
  );
};
/** The number of the block, if it is there. */
const ask = async (number: number) => (await source.next(number))?.header.number;

/** A second passes, and JSON-RPC has another block. Its reader asks for the next one at once. */
const turn = async () => {
  nowMs += 1000;
  head += 1;
  const number = await ask(head);
  if (number !== undefined) expect(await ask(head + 1)).toBeUndefined();
  return number;
};
/** JSON-RPC gives all blocks. */
const fallSilent = async () => {
  head = 100;
  await ask(100);
  nowMs += SILENCE_MS_MAX;
  expect([await ask(100), await ask(101)]).toEqual([100, undefined]);
  expect(await turn()).toBe(101);
  expect(gapBlocks).toEqual([100, 101]);
};

describe('a topic that was silent and is there again', () => {
  test('is followed, though JSON-RPC had each of its blocks sooner', async () => {
    await fallSilent();
    write(101);
    expect(await turn()).toBeUndefined();
    write(102);
    expect(await ask(102)).toBe(102);
    expect(gapBlocks).toEqual([100, 101]);
  });

  test.each([
    ['its node makes up for what was missed', 95, []],
    ['its blocks cannot be read', 101, 'no list'],
  ])('holds up nothing while %s', async (_what, from, transactions) => {
    await fallSilent();
    for (let n = 0; n < 10; n += 1) {
      write(from + n, transactions);
      expect(await turn()).toBe(102 + n);
    }
  });
});

test('a block that is missing with a later one there is asked of JSON-RPC, and so is each while the topic is silent', async () => {
  head = 10;
  await ask(10);
  write(10);
  expect(await ask(10)).toBe(10);
  head = 12;
  write(12);
  expect(await ask(11)).toBeUndefined();
  nowMs += GAP_MS_MAX;
  expect([await ask(11), await ask(12), await ask(13)]).toEqual([11, 12, undefined]);
  head = 13;
  nowMs += SILENCE_MS_MAX - GAP_MS_MAX - 1;
  expect(await ask(13)).toBeUndefined();
  nowMs += 1;
  expect(await ask(13)).toBe(13);
  expect(gapBlocks).toEqual([11, 13]);
});
