import { describe, expect, test } from '@jest/globals';
import { type BlockHeader, ChainContradiction, type Node, RpcUnavailable } from '@makerbook/chain';
import { refuseAhead } from './refuse-ahead.js';

const NOW_SECONDS = 1_700_000_000;
const header = (timestamp: number, hash: BlockHeader['hash'] = '0xaa'): BlockHeader => ({
  number: 7,
  hash: `0x${hash.slice(2).padStart(64, '0')}`,
  parentHash: `0x${'11'.repeat(32)}`,
  timestamp,
});

/** A node whose endpoints, keyed by name, each have the block, have no block (null), or fail. */
const nodeOf = (blocks: Readonly<Record<string, BlockHeader | null | Error>>): Node => {
  const endpoints = Object.entries(blocks).map(([name, block]) => ({
    name,
    callAll: async (_: unknown, read: (answers: unknown[], endpoint: string) => unknown) => {
      if (block instanceof Error) throw block;
      return read([block], name);
    },
  }));
  return { endpoints: () => endpoints } as unknown as Node;
};
const refuse = (block: BlockHeader, blocks: Parameters<typeof nodeOf>[0] = {}) =>
  refuseAhead(block, {
    node: nodeOf(blocks),
    unixMs: () => NOW_SECONDS * 1000,
    settings: { BLOCK_AHEAD_SECONDS_MAX: 60 },
  });

describe('a block', () => {
  test('may be ahead of the clock up to the limit', async () => {
    await refuse(header(NOW_SECONDS + 60));
    await refuse(header(1));
  });

  test('that is further ahead is refused, with what each node says about it', async () => {
    const ahead = header(NOW_SECONDS + 61);
    const blocks = {
      own: ahead,
      sane: header(NOW_SECONDS, '0xbb'),
      wild: header(NOW_SECONDS + 99, '0xcc'),
      behind: null,
      away: new RpcUnavailable('gone'),
    };
    const refused = refuse(ahead, blocks);
    await expect(refused).rejects.toBeInstanceOf(ChainContradiction);
    await expect(refused).rejects.toThrow(
      `block 7 (${ahead.hash}) has timestamp ${NOW_SECONDS + 61}, 61 s ahead of this machine's clock; 60 s are allowed: own has the same block; sane has ${blocks.sane.hash} of ${NOW_SECONDS}, within bounds; wild has ${blocks.wild.hash} of ${NOW_SECONDS + 99}, beyond bounds; behind does not have the block; away does not answer. Nothing of it was published.`,
    );
  });

  test('with a timestamp beyond any date is refused in the same way', async () => {
    await expect(refuse(header(Number.MAX_SAFE_INTEGER))).rejects.toBeInstanceOf(ChainContradiction);
  });
});
