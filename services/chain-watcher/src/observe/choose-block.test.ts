import { describe, expect, test } from '@jest/globals';
import { type BlockHeader, ChainContradiction, type Node, type RpcRequest, RpcUnavailable } from '@makerbook/chain';
import { ReadingBlocks } from './choose-block.js';

const header = (number: number): BlockHeader => ({
  number,
  hash: `0x${number.toString(16).padStart(64, '0')}`,
  parentHash: `0x${(number - 1).toString(16).padStart(64, '0')}`,
  timestamp: number,
});

/** A node whose newest block is `head`. Its blocks have the hashes of `header`, or end in f on another branch. */
function setUp() {
  const world = { head: 500, known: 500 as number | undefined, newestRead: -1, asked: 0, isOtherBranch: false };
  const callAll = async (requests: readonly RpcRequest[], read: (answers: unknown[], endpoint: string) => unknown) => {
    world.asked += 1;
    const blocks = requests.map(({ params: [number] }) => header(number === 'latest' ? world.head : Number(number)));
    const other = (block: BlockHeader) => ({ ...block, hash: block.hash.replace(/.$/, 'f') });
    return read(world.isOtherBranch ? blocks.map(other) : blocks, 'node');
  };
  const node = { callAll, passOver: () => undefined } as unknown as Node;
  const headNumber = () => world.known;
  const blocks = new ReadingBlocks({ node, stateBlocksMax: 100, headNumber, newestRead: () => world.newestRead });
  return { world, choose: (number: number) => blocks.choose(header(number)) };
}

describe('the block at which values are read', () => {
  test('is the matched one while it is near the head, and then the node is not asked', async () => {
    const { world, choose } = setUp();
    expect(await choose(400)).toEqual(header(400));
    world.known = undefined;
    expect(await choose(400)).toEqual(header(400));
    expect(world.asked).toBe(0);
  });

  test('is the head where nodes may have forgotten the state of the matched one', async () => {
    const { choose } = setUp();
    expect(await choose(399)).toEqual(header(500));
  });

  test('is the head where the log holds a newer reading already', async () => {
    const { world, choose } = setUp();
    world.newestRead = 450;
    expect(await choose(449)).toEqual(header(500));
    expect(await choose(500)).toEqual(header(500));
  });

  test('never goes back behind one that was chosen before, though a node is asked that lags', async () => {
    const { world, choose } = setUp();
    await choose(399);
    world.head = 499;
    await expect(choose(400)).rejects.toThrow(RpcUnavailable);
    world.head = 510;
    expect(await choose(400)).toEqual(header(510));
  });

  test('is never one of a node that has another block in place of the matched one', async () => {
    const { world, choose } = setUp();
    world.isOtherBranch = true;
    await expect(choose(398)).rejects.toThrow(ChainContradiction);
    await expect(choose(398)).rejects.toThrow(/reorganisation of final blocks/);
  });
});
