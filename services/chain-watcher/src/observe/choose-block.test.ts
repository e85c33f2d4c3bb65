import { describe, expect, test } from '@jest/globals';
import { ChainContradiction, RpcUnavailable } from '@makerbook/chain';
import { nodeOfBlocks } from '../testing/node-of-blocks.js';
import { ReadingBlocks } from './choose-block.js';
import type { Holder } from './holder.js';

function setUp() {
  const chain = nodeOfBlocks(500);
  const { node, header } = chain;
  const world = { known: 500 as number | undefined };
  const followed = { newestRead: -1 };
  const source = { headNumber: () => world.known };
  const work = { node, source, followed, settings: { STATE_BLOCKS_MAX: 100 } };
  const blocks = new ReadingBlocks(work as unknown as Holder);
  return { chain, world, followed, header, choose: (number: number) => blocks.choose(header(number)) };
}

describe('the block at which values are read', () => {
  test('is the matched one while that is near the head, without asking the node', async () => {
    const { chain, world, header, choose } = setUp();
    expect(await choose(400)).toEqual(header(400));
    world.known = undefined;
    expect(await choose(400)).toEqual(header(400));
    expect(chain.asked).toBe(0);
  });

  test('is the head if nodes may have forgotten the state at the matched one', async () => {
    const { header, choose } = setUp();
    expect(await choose(399)).toEqual(header(500));
  });

  test('is the head if the log already holds a newer reading', async () => {
    const { followed, header, choose } = setUp();
    followed.newestRead = 450;
    expect(await choose(449)).toEqual(header(500));
    expect(await choose(500)).toEqual(header(500));
  });

  test('is never older than one chosen before, even if a lagging node is asked', async () => {
    const { chain, header, choose } = setUp();
    await choose(399);
    chain.head = 499;
    await expect(choose(400)).rejects.toThrow(RpcUnavailable);
    chain.head = 510;
    expect(await choose(400)).toEqual(header(510));
  });

  test('is never taken from a node that has another block in place of the matched one', async () => {
    const { chain, choose } = setUp();
    chain.isOtherBranch = true;
    await expect(choose(398)).rejects.toThrow(ChainContradiction);
    await expect(choose(398)).rejects.toThrow(/reorganisation of final blocks/);
  });
});
