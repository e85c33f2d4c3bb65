import type { BlockHeader } from '@makerbook/chain';
import type { Cause } from '@makerbook/contracts-events';
import { noteMatched, publishBlock, readPublished, say, type WatchOptions } from './keep-position.js';
import { readHead } from './keep-read-point.js';
import { pairAt, type Touched, type TouchedOrder } from './match-logs.js';
import { blockRefOf, type FactReader } from './read-facts.js';
import { matchMissedLogs } from './read-missed-logs.js';
import { readTouched } from './read-whole.js';
import { rereadMakers } from './reread-makers.js';

/**
 * Reads all watched makers anew at the head, and of the missed blocks only the protocol's own logs: its cost follows the
 * number of pairs, not of blocks. Then the head is published as processed.
 * @param before the last block that was processed; undefined at the very first start: then every open order is read too.
 */
export async function catchUpAtHead(options: WatchOptions, before: BlockHeader | undefined): Promise<void> {
  const { node, log, reader, state, signal, retry } = options;
  state.phase = 'CATCHING_UP';
  if (before !== undefined) await log.reached(before.number, signal);
  // Of a chain that holds the block before: else a node of another chain could have its head published.
  const head = await retry(async () =>
    before === undefined ? readHead(node) : (await readPublished(node, before)).newest,
  );
  if (signal.aborted) return;
  // From here on: what joins the watched set is read at the head or later by the reader of new orders.
  noteMatched(head, head, options);
  if (reader !== undefined) {
    const touched = before === undefined ? undefined : await matchMissedLogs(before.number + 1, head, reader, options);
    await publishMakers(touched, head, reader, options);
    await publishOutdated(head, reader, options);
  }
  if (signal.aborted) return;
  const block = blockRefOf(head);
  await retry(() => publishBlock([], block, options));
  state.processed = block;
  state.catchUp = undefined;
  options.onBlock(block, 0, undefined);
}

/** @param orders that may have changed; undefined: any may have */
async function publishMakers(
  orders: readonly TouchedOrder[] | undefined,
  head: BlockHeader,
  reader: FactReader,
  options: WatchOptions,
): Promise<void> {
  const { watched, publisher, readPoint, turns, signal, retry } = options;
  const byMaker = orders && Map.groupBy(orders, ({ maker }) => maker);
  let done = 0;
  for (let from: number | undefined = 0; from !== undefined && !signal.aborted; ) {
    say({ step: 'makers', done, total: Math.max(done, watched.sizes().makers) }, options);
    const start: number = from;
    const { next, makers } = await retry(() =>
      turns.take(async () => {
        const at = await readPoint.at();
        // At a later block than the one whose logs were matched, other orders may have changed.
        const changed = at.number > head.number ? undefined : byMaker;
        const reread = await rereadMakers(reader, watched, at, changed, start);
        if (reread.facts.length > 0) await publisher.publish(reread.facts);
        return reread;
      }),
    );
    done += makers;
    from = next;
  }
}

/**
 * Of what was not said of a block that was caught up to, as the log said it already, an older value may have come from
 * another watcher meanwhile.
 * @param head the block that was matched last
 */
export async function publishOutdated(head: BlockHeader, reader: FactReader, options: WatchOptions): Promise<void> {
  const { watched, publisher, readPoint, turns, signal, retry } = options;
  while (!signal.aborted) {
    const pairs = watched.takeOutdated(OUTDATED_MAX);
    if (pairs.length === 0) return;
    const touched: Touched = { pairs: pairs.map((pair) => pairAt(pair, watched, CAUSE)), makers: [], orders: [] };
    await retry(() =>
      turns.take(async () => {
        const at = await readPoint.at();
        await publisher.publish(await readTouched(reader, watched, touched, at, head.number));
      }),
    );
  }
}

const CAUSE: Cause = { kind: 'read', occasion: 'CATCH_UP' };
const OUTDATED_MAX = 500;
