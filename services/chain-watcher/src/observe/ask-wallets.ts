import { isValidSignature, SIGNATURE_ACCEPTED, SINGLES_MAX } from '@makerbook/chain';
import type { AskedOrder } from '../watch/watched-maker.js';
import { within } from '../within.js';
import type { Holder } from './holder.js';
import type { MakerReader } from './read-makers.js';

const SWEEP_PAUSE_MS = 1000;
/** The pause when there is nothing to ask. */
const IDLE_MS = 500;

type AskingWork = Holder<'watched' | 'position' | 'readingBlocks' | 'monotonicMs'>;

/**
 * Asks contract wallets about their orders, beside the block loop. Asks about orders that are new or whose wallet had a
 * log: one wallet after another, some orders of each. Sweeps all other orders over and over, so many in a second,
 * because a wallet may change its mind without a log. An order with a new answer is then read as a new order is. After
 * each request the node gets as much time for other work.
 */
export async function askWallets(
  work: AskingWork & Holder<'followed' | 'settings' | 'signal' | 'wait' | 'retryFor'>,
  reader: MakerReader,
): Promise<void> {
  const { watched, followed, settings, signal, monotonicMs, wait } = work;
  const retry = work.retryFor('wallets');
  let swept = watched.wallets.answered();
  let sweepDueMs = monotonicMs();
  const takeSwept = (): AskedOrder[] => {
    const orders: AskedOrder[] = [];
    while (orders.length < Math.min(settings.SWEEP_PAIRS_PER_SECOND, SINGLES_MAX)) {
      const { value, done } = swept.next();
      if (done) {
        swept = watched.wallets.answered();
        break;
      }
      orders.push(value);
    }
    return orders;
  };
  const isAwaited = () => work.position.phase === 'FOLLOWING' && watched.wallets.hasUnasked();
  while (!signal.aborted) {
    const startedAtMs = monotonicMs();
    const isSweepDue = settings.SWEEP_PAIRS_PER_SECOND > 0 && startedAtMs >= sweepDueMs;
    if (isSweepDue) sweepDueMs = startedAtMs + SWEEP_PAUSE_MS;
    const orders = [
      ...(isSweepDue ? takeSwept() : []),
      ...(isAwaited() ? watched.wallets.takeUnasked(SINGLES_MAX) : []),
    ];
    let isAsked = false;
    for (const some of [orders.slice(0, SINGLES_MAX), orders.slice(SINGLES_MAX)])
      if (some.length > 0 && (await retry(() => ask(some, work, reader)))) isAsked = true;
    if (isAsked) await wait(monotonicMs() - startedAtMs);
    else if (isAwaited()) await wait(IDLE_MS);
    else await within(wait(IDLE_MS), (over) => followed.until(isAwaited, over));
  }
}

/** Asks at the block that was matched last. @returns whether anything was asked */
async function ask(orders: readonly AskedOrder[], work: AskingWork, reader: MakerReader): Promise<boolean> {
  const { watched, position, readingBlocks, monotonicMs } = work;
  const { matched } = position;
  if (matched === undefined) return false;
  const at = await readingBlocks.choose(matched);
  // Between the two blocks a wallet may have changed unnoticed.
  if (at.number > matched.number) return false;
  const calls = orders.map(({ maker, order, own }) => {
    return isValidSignature(maker.address, watched.orderHash(order), own.signature);
  });
  const words = await reader.state.readAlone(at.hash, calls);
  for (const [n, order] of orders.entries()) {
    watched.wallets.note(order, words[n] === SIGNATURE_ACCEPTED, at.number, monotonicMs());
  }
  return true;
}
