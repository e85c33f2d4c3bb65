import { type Hex, unlessAway } from '@makerbook/contracts-primitives';
import { cancelledFact } from '@makerbook/domain';
import { type ApiRequest, isRefusal, type Refusal, unavailable } from '@makerbook/http';
import { settledMsOf } from '../limits.js';
import type { AskedSalts } from '../parse/read-salts.js';
import type { Parts } from '../parts.js';
import type { WantedSalts } from '../store/store.js';
import type { ToCancel } from './prove-cancellations.js';
import { proveSigner } from './prove-exits.js';

type ProvingParts = Pick<Parts, 'makers' | 'askWallets' | 'store' | 'settings' | 'trust' | 'monotonicMs' | 'pause'>;
const POLL_MS = 20;

export interface ProvenSalts {
  /** In the order of the salts. */
  readonly toCancel: ToCancel;
  /** The salts that none of the orders has. */
  readonly missing: readonly Hex[];
}

/**
 * Proves the signature of a request, and finds the orders that it names by their salts, open or in flight.
 * @param settleMs how long to wait for earlier cancellations of them to take effect
 * @returns 503 if Postgres cannot tell: nothing is cancelled then, and no answer says that there are none
 */
export async function proveSalts(
  parts: ProvingParts,
  asked: AskedSalts,
  request: ApiRequest,
  settleMs = 0,
): Promise<ProvenSalts | Refusal> {
  const { maker, salts, untilMs } = asked;
  const signed = await proveSigner(parts, asked, true, request);
  if (isRefusal(signed)) return signed;
  const wanted = { maker, salts, untilMs, lastsMs: settledMsOf(parts.settings) };
  const found = await findSettled(parts, wanted, settleMs);
  if (found === undefined || found === 'untrusted') {
    if (found === 'untrusted') parts.trust.noteLoss();
    return unavailable(
      'it is not known now which orders have these salts, and nothing was cancelled. Named by its hash, with its salt, an ' +
        'order is cancelled at once; cancel-all cancels all',
    );
  }
  const cause = { kind: 'request', requestId: request.requestId } as const;
  const bySalt = Map.groupBy(found, ({ salt }) => salt);
  const ordered = salts.flatMap((salt) => bySalt.get(salt) ?? []);
  const facts = ordered.map(({ orderHash, expiresAtSeconds: expiry }) => {
    return [orderHash, cancelledFact(maker, orderHash, expiry, cause)] as const;
  });
  return { toCancel: new Map(facts), missing: salts.filter((salt) => !bySalt.has(salt)) };
}

async function findSettled({ store, monotonicMs, pause }: ProvingParts, wanted: WantedSalts, settleMs: number) {
  const deadlineMs = monotonicMs() + settleMs;
  for (;;) {
    const found = await unlessAway(store.findBySalts(wanted));
    const isSettled = !Array.isArray(found) || found.every(({ isCancelling }) => !isCancelling);
    if (isSettled || monotonicMs() >= deadlineMs) return found;
    await pause(POLL_MS);
  }
}
