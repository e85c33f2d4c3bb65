import type { HeadSubscription } from '@makerbook/chain';
import { PendingBlocks, type TakeOptions } from '@makerbook/chain-watcher/testing';
import { createChance, Draws, type Life } from '@makerbook/parts';
import type { Block, Chain } from './keep-chain.js';

/**
 * Draws the sources of blocks that this process has beside JSON-RPC: a topic, announcements, both or neither. Each
 * gives blocks late, twice, out of order or not at all. It is down for some time, and repeats earlier blocks.
 */
export function tellBlocks(seed: number, chain: Chain, life: Life): Pick<TakeOptions, 'subscribe' | 'topic'> {
  const chance = createChance(seed ^ SEED);
  const { hasTopic, isAnnounced } = chance.pick([
    { hasTopic: true, isAnnounced: true },
    { hasTopic: true, isAnnounced: true },
    { hasTopic: true, isAnnounced: false },
    { hasTopic: false, isAnnounced: true },
    { hasTopic: false, isAnnounced: false },
  ]);
  const pending = new PendingBlocks({ blocksMax: chance.pick([500, 3]), monotonicMs: () => life.nowMs() });
  let hear: (number: number | undefined) => void = () => undefined;
  const add = ({ header, logs }: Block) => pending.add({ header, logs, logsBloom: undefined });
  if (hasTopic) tell('topic', add);
  if (isAnnounced) tell('heads', ({ header }, isNumbered) => hear(isNumbered ? header.number : undefined));
  return {
    subscribe: isAnnounced
      ? (onHead): HeadSubscription => {
          hear = onHead;
          return { isOpen: () => true, close: () => undefined };
        }
      : undefined,
    topic: hasTopic
      ? { name: 'the topic', pending, gapMsMax: 300, silenceMsMax: chance.pick([3000, 600]), onGap: () => undefined }
      : undefined,
  };

  function tell(what: string, give: (block: Block, isNumbered: boolean) => void): void {
    const draws = new Draws(seed);
    const paceMs = chance.pick([30, 30, 400, 4000]);
    let awayUntilMs = 0;
    chain.onBlock((block) => {
      const drawn = draws.at(life.nowMs(), what);
      if (drawn.oneIn(20)) awayUntilMs = life.nowMs() + drawn.between(500, 9000);
      const again = drawn.oneIn(6) ? Math.max(0, block.header.number - drawn.below(5)) : undefined;
      if (life.nowMs() < awayUntilMs || drawn.oneIn(12)) return;
      life.after(drawn.below(paceMs), () => give(block, !drawn.oneIn(8)));
      if (again !== undefined) life.after(drawn.below(paceMs), () => give(chain.at(again), true));
    });
  }
}

const SEED = 0x50_0c_e5;
