import type { Hex } from '@makerbook/contracts-primitives';
import type { PlacementRefusal } from '@makerbook/domain';
import { type Refusal, unavailable } from '@makerbook/http';
import { type FoundHash, type PlaceOutcome, type PlaceRequest, unlessAway } from '@makerbook/postgres';
import { IN_FLIGHT_RETRY_SECONDS } from './append-facts.js';
import type { Parts } from './parts.js';

/** What Postgres is asked, but for the time. */
export type Asked = Omit<PlaceRequest, 'nowMs' | 'lastsMs'>;

const ACCEPTED_BEFORE = 'the order was accepted before: a hash is accepted once';

/** Finds the first order that was accepted before. */
export function refuseAccepted(found: readonly FoundHash[]): Refusal | undefined {
  const index = found.findIndex((one) => one.state === 'GONE' || (one.state === 'FOUND' && !one.isInFlight));
  return index < 0 ? undefined : { code: 'duplicate', detail: ACCEPTED_BEFORE, index };
}

/** Refuses orders whose `Valid-Until` has passed, unless one of them was accepted before. */
export async function refuseLate(
  { store, now }: Pick<Parts, 'store' | 'now'>,
  hashes: readonly Hex[],
): Promise<Refusal> {
  const found = await unlessAway(store.findOrders(hashes, now(), false));
  const detail =
    'this request stored nothing: by the clock of the service the time that Valid-Until names has passed. ' +
    'GET …/{orderHash} tells whether an earlier one did';
  return refuseAccepted(found ?? []) ?? { code: 'valid_until_passed', detail };
}

/** Refuses a request by a check of the domain. */
export function refuse({ code, index, pointer, detail }: PlacementRefusal): Refusal {
  const errors = pointer === undefined ? undefined : [{ pointer: `/${index}${pointer}`, detail }];
  return { code, detail, index, ...(errors && { errors }) };
}

/** Refuses what Postgres has not placed. */
export function refuseOutcome(
  { makers, orders, rememberedMax }: Asked,
  outcome: Exclude<PlaceOutcome, { kind: 'placed' }>,
  repeat?: PlacementRefusal,
): Refusal {
  const index = 'index' in outcome ? outcome.index : 0;
  const maker = makers[orders[index]?.makerIndex ?? 0];
  if (maker === undefined) throw new Error(`no maker has asked for order ${index}`);
  const refused = (code: Refusal['code'], detail: string): Refusal => ({ code, detail, index });
  switch (outcome.kind) {
    case 'charged':
      throw new Error('timely orders were charged and not placed');
    case 'untrusted':
      return unavailable('nothing was stored: the store of orders has lost rows, and reads them from the log again');
    case 'quarantined':
      return unavailable('nothing was stored: the maker is in quarantine until an operator releases it');
    case 'in_flight': {
      const detail = `order ${index} is being placed or cancelled by another request: send it again`;
      return { ...unavailable(detail, IN_FLIGHT_RETRY_SECONDS), index };
    }
    case 'over_budget': {
      const detail = `the maker's budget holds ${maker.budget.burst} orders when full: place fewer at once`;
      return refused('too_many_orders', detail);
    }
    case 'rate_limited': {
      const detail = `the maker's budget of ${maker.budget.ratePerSecond} orders per second is spent; Retry-After says when all of the request fits`;
      return refused('rate_limited', detail);
    }
    case 'duplicate':
      if (repeat?.index === index) return refuse(repeat);
      return refused('duplicate', ACCEPTED_BEFORE);
    case 'told_unknown': {
      const detail = 'the order was cancelled while this request was on its way: post it again if it is to be placed';
      return refused('order_cancelled', detail);
    }
    case 'nonce_passed': {
      const detail = "the maker's nonce is above that of the order: it is cancelled";
      return refuse({ code: 'order_cancelled', index, pointer: '/order/nonce', detail });
    }
    case 'too_many_open': {
      const detail = `the maker may have ${maker.openOrdersMax} open orders, and has ${outcome.count}: cancel some first`;
      return refused('too_many_orders', detail);
    }
    case 'too_many_remembered': {
      const detail =
        `${outcome.count} order hashes of the maker are remembered, at most ${rememberedMax} are: use shorter ` +
        'expiries, or raise the nonce with cancelAllOrders, after which older orders need not be remembered';
      return refused('too_many_orders', detail);
    }
  }
}
