import { describe, expect, test } from '@jest/globals';
import { type BlockHeader, ChainContradiction, type Node, type RpcRequest } from '@makerbook/chain';
import { ReadPoint } from './keep-read-point.js';

const header = (number: number): BlockHeader => ({
  number,
  hash: `0x${number.toString(16).padStart(64, '0')}`,
  parentHash: `0x${(number - 1).toString(16).padStart(64, '0')}`,
  timestamp: number,
});

/** A node whose newest block is `head`, and a clock. Its blocks have the hashes of `header`, or end in f on another branch. */
function setUp() {
  const world = { head: 500, nowMs: 0, asked: 0, isOtherBranch: false };
  const callAll = async (requests: readonly RpcRequest[], read: (answers: unknown[], endpoint: string) => unknown) => {
    world.asked += 1;
    const blocks = requests.map(({ params: [number] }) => header(number === 'latest' ? world.head : Number(number)));
    const other = (block: BlockHeader) => ({ ...block, hash: block.hash.replace(/.$/, 'f') });
    return read(world.isOtherBranch ? blocks.map(other) : blocks, 'node');
  };
  const node = { callAll } as unknown as Node;
  return { world, point: new ReadPoint({ node, nowMs: () => world.nowMs, stateBlocksMax: 100 }) };
}

describe('the block at which values are read', () => {
  test('is the matched one while it is near the head, and then the node is not asked', async () => {
    const { world, point } = setUp();
    expect(point.isKnown).toBe(false);
    expect(await point.choose(header(400), 500)).toEqual(header(400));
    point.moveTo(header(400));
    expect(await point.at()).toEqual(header(400));
    expect(world.asked).toBe(0);
  });

  test('is the newest one where the matched one is too far back, or the head is not known', async () => {
    const { point } = setUp();
    expect(await point.choose(header(399), 500)).toEqual(header(500));
    expect(await point.choose(header(399), undefined)).toEqual(header(500));
    expect(await point.choose(header(400), undefined)).toEqual(header(400));
  });

  test('moves on where nothing moved it for long, as a node forgets the state of an old block', async () => {
    const { world, point } = setUp();
    point.moveTo(header(450));
    world.head = 600;
    expect((await point.at()).number).toBe(450);
    world.nowMs = 10_001;
    expect((await point.at()).number).toBe(600);
    world.head = 650;
    world.nowMs = 20_003;
    expect((await point.at()).number).toBe(600);
  });

  test('never goes back, though a node is asked that lags', async () => {
    const { world, point } = setUp();
    point.moveTo(header(600));
    world.nowMs = 10_001;
    expect((await point.at()).number).toBe(600);
  });

  test('is never one of a node that has another block in place of the matched one', async () => {
    const { world, point } = setUp();
    point.moveTo(header(450));
    world.head = 600;
    world.nowMs = 10_001;
    world.isOtherBranch = true;
    await expect(point.at()).rejects.toThrow(ChainContradiction);
    await expect(point.choose(header(450), undefined)).rejects.toThrow(/reorganisation of final blocks/);
  });
});
