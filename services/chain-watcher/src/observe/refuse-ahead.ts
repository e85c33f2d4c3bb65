import { type BlockHeader, ChainContradiction, type Node, readBlock } from '@makerbook/chain';
import type { BlockRef } from '@makerbook/contracts-events';
import type { UnixMs } from '@makerbook/contracts-primitives';
import type { WatcherSettings } from '../env.js';

export interface AheadOptions {
  readonly node: Node;
  /** Milliseconds since 1970. */
  readonly unixMs: () => UnixMs;
  readonly settings: Pick<WatcherSettings, 'BLOCK_AHEAD_SECONDS_MAX'>;
}

/**
 * Refuses a block whose timestamp is too far ahead of the watcher's clock: orders would expire by it, and no later
 * block could bring them back.
 * @throws ChainContradiction, with what each node says about the block
 */
export async function refuseAhead(block: BlockRef, { node, unixMs, settings }: AheadOptions): Promise<void> {
  const secondsMax = settings.BLOCK_AHEAD_SECONDS_MAX;
  const aheadSeconds = ({ timestamp }: Pick<BlockRef, 'timestamp'>) => Math.round(timestamp - unixMs() / 1000);
  if (aheadSeconds(block) <= secondsMax) return;
  const { number, hash, timestamp } = block;
  const describe = (other: BlockHeader | undefined): string => {
    if (other === undefined) return 'does not have the block';
    if (other.hash === hash && other.timestamp === timestamp) return 'has the same block';
    return `has ${other.hash} of ${other.timestamp}, ${aheadSeconds(other) <= secondsMax ? 'within' : 'beyond'} bounds`;
  };
  const said = await Promise.all(
    node.endpoints().map(async (each) => {
      const asked = readBlock(each, number).then(describe, () => 'does not answer');
      return `${each.name} ${await asked}`;
    }),
  );
  throw new ChainContradiction(
    `block ${number} (${hash}) has timestamp ${timestamp}, ${aheadSeconds(block)} s ahead of this machine's clock; ${secondsMax} s are allowed: ${said.join('; ')}. Nothing of it was published.`,
  );
}
