import type { Address, Hex } from '@makerbook/contracts-primitives';
import type { OpenOrder } from './open-order.js';

/** True if the order's record in the feed has the funds of its maker. */
export const hasFunds = ({ inBook, state }: Pick<OpenOrder, 'inBook' | 'state'>): boolean =>
  inBook && state.status !== 'VALIDATING';

/** The orders that tell readers a maker's new funds. Readers that begin later get them too. */
interface Telling {
  /** The order whose record has the funds, while those of others are older. */
  readonly teller: Hex | undefined;
  /** The order whose record is published again to tell the funds. */
  readonly repeated: OpenOrder | undefined;
}

/**
 * Chooses the newest order that can tell the funds of a token, because the others mostly leave before it.
 * @param orders oldest acceptance first
 * @param changed orders whose new records have the funds anyway
 */
export function chooseTeller(orders: Iterable<OpenOrder>, token: Address, changed: ReadonlySet<Hex>): Telling {
  const selling = [...orders].filter((one) => one.order.making.token === token && hasFunds(one));
  const isToldByAll = selling.every(({ orderHash }) => changed.has(orderHash));
  const told = selling.findLast(({ orderHash }) => changed.has(orderHash));
  const repeated = told === undefined ? selling.at(-1) : undefined;
  const isAlone = isToldByAll || selling.length === 1;
  return { teller: isAlone ? undefined : (told ?? repeated)?.orderHash, repeated };
}
