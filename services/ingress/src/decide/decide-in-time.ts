import { unlessAway } from '@makerbook/contracts-primitives';
import {
  type Refusal as DomainRefusal,
  type Placement,
  type ProvenOrder,
  REQUEST_AGE_MS_MAX,
  type Replacement,
} from '@makerbook/domain';
import { type ApiRequest, type Refusal, type ReplyHeaders, SERVER_TIME, unavailable } from '@makerbook/http';
import { partitionOf } from '@makerbook/kafka';
import { orderBudgetOf } from '@makerbook/whitelist';
import { release } from '../append/append-facts.js';
import { settledMsOf } from '../limits.js';
import type { Parts } from '../parts.js';
import { inList, refuse } from '../refuse-placements.js';
import type { Decided } from './decide-together.js';

const POLL_MS = 20;
const POLL_MS_MAX = 200;

export type DecidingParts = Pick<Parts, 'settings' | 'trust' | 'monotonicMs' | 'pause' | 'decide' | 'store' | 'logger'>;

/** Builds the request to the domain. */
export function placementOf(
  { settings, makers }: Pick<Parts, 'settings' | 'makers'>,
  proven: readonly ProvenOrder[],
  validUntilMs: number | undefined,
): Placement {
  const addresses = [...new Set(proven.map(({ order }) => order.maker))].sort();
  return {
    kind: 'placement',
    // `decideTogether` sets the time, once it knows the clock of the store.
    receivedAtMs: 0,
    lastsMs: settledMsOf(settings),
    validUntilMs,
    makers: addresses.map((maker) => {
      const limits = makers.limitsOf(maker);
      return {
        maker,
        partition: partitionOf(maker, settings.PARTITIONS),
        budget: orderBudgetOf(settings, limits),
        openOrdersMax: limits.openOrdersMax ?? settings.MAX_OPEN_ORDERS_PER_MAKER,
        nonce: makers.nonceOf(maker),
      };
    }),
    orders: proven,
    rememberedMax: settings.REMEMBERED_HASHES_PER_MAKER_MAX,
  };
}

/**
 * Decides, and decides again as long as another request places the same hash. Releases what is stored too late: by the
 * time of its append a note may be forgotten, or the rows.
 */
export async function decideInTime(
  parts: DecidingParts,
  { requestId, receivedAtMs, charge }: ApiRequest,
  asked: Placement | Replacement,
): Promise<Decided | Refusal> {
  const { settings, trust, monotonicMs, pause } = parts;
  const deadlineMs = monotonicMs() + settings.PLACE_WAIT_MS;
  for (let pollMs = POLL_MS; ; pollMs = Math.min(2 * pollMs, POLL_MS_MAX)) {
    const decided = await unlessAway(parts.decide({ requestId, receivedAtMs, request: asked }));
    if (decided === undefined) return unavailable('nothing was stored: the store of orders does not answer');
    const { refusal, left, ofClient, begunAtMs, decisions } = decided;
    if (refusal?.cause === 'in_flight' && monotonicMs() < deadlineMs) {
      await pause(pollMs);
      continue;
    }
    if (ofClient > 0) await charge(ofClient);
    if (refusal?.cause === 'untrusted') trust.noteLoss();
    if (refusal !== undefined) {
      const refused = inListOf(asked, refusal, refuse(refusal, left));
      return { ...refused, headers: { ...refused.headers, ...serverTime(decided.nowMs) } };
    }
    const nowMs = monotonicMs();
    if (nowMs - begunAtMs <= settings.POSTGRES_TIMEOUT_MS && nowMs - receivedAtMs <= REQUEST_AGE_MS_MAX) return decided;
    await release(parts, requestId, decisions);
    return unavailable('nothing was stored: the store of orders took too long');
  }
}

/**
 * The time by which a request was decided. The clock of the store may be ahead of the one here. A maker that names this
 * time in a cancel-all means these orders too, also after `duplicate`, which says that they were stored before.
 */
export function serverTime(nowMs: number): ReplyHeaders {
  return { [SERVER_TIME]: String(nowMs) };
}

/** Points to the item in its list of the body, if the request has two. */
function inListOf(asked: Placement | Replacement, { list }: DomainRefusal, refusal: Refusal): Refusal {
  return asked.kind === 'placement' ? refusal : inList(list ?? 'place', refusal);
}
