import type { MakerEvent, OrderSubmitted, OrdersCancelled } from '@makerbook/contracts-events';
import type { Address, Hex } from '@makerbook/contracts-primitives';

type Scope = Pick<OrdersCancelled, 'making' | 'untilMs'>;

/**
 * Finds the orders that their makers cancelled with all others, from the log alone. It remembers everything and never
 * looks at the fold.
 */
export class CutOffOrders {
  readonly #submitted = new Map<Hex, OrderSubmitted>();
  readonly #scopes = new Map<Address, Scope[]>();
  readonly #switches = new Map<Address, { readonly cancelAt: number; readonly issuedAtMs: number }>();
  #seconds = 0;
  #block = -1;

  /** @returns the orders that this fact cancels, or the order that it adds if that is already cancelled */
  take(fact: MakerEvent): readonly Hex[] {
    switch (fact.type) {
      case 'OrderSubmitted':
        // A repeat of an order changes nothing.
        if (this.#submitted.has(fact.orderHash)) return [];
        this.#submitted.set(fact.orderHash, fact);
        return (this.#scopes.get(fact.maker) ?? []).some((scope) => isIn(fact, scope)) ? [fact.orderHash] : [];
      case 'OrdersCancelled':
        return this.#cancel(fact.maker, fact);
      case 'SwitchSet':
        return this.#set(fact.maker, fact);
      case 'BlockProcessed':
        // A block that is repeated after a take-over does not advance the clock.
        if (fact.block.number <= this.#block) return [];
        this.#block = fact.block.number;
        this.#seconds = Math.max(this.#seconds, fact.block.timestamp);
        return [...this.#switches.keys()].flatMap((maker) => this.#fire(maker));
      default:
        return [];
    }
  }

  #set(maker: Address, { cancelAt, issuedAtMs }: { readonly cancelAt: number; readonly issuedAtMs: number }): Hex[] {
    if (issuedAtMs <= (this.#switches.get(maker)?.issuedAtMs ?? 0)) return [];
    this.#switches.set(maker, { cancelAt, issuedAtMs });
    return [];
  }

  #fire(maker: Address): Hex[] {
    const { cancelAt = 0 } = this.#switches.get(maker) ?? {};
    if (cancelAt === 0 || cancelAt > this.#seconds) return [];
    return this.#cancel(maker, { untilMs: cancelAt * 1000 });
  }

  #cancel(maker: Address, scope: Scope): Hex[] {
    this.#scopes.set(maker, [...(this.#scopes.get(maker) ?? []), scope]);
    return [...this.#submitted.values()]
      .filter((order) => order.maker === maker && isIn(order, scope))
      .map(({ orderHash }) => orderHash);
  }
}

/** True if the order is in the scope of a cancellation. */
export function isIn(
  { order, acceptedAtMs }: OrderSubmitted,
  { making = order.making.token, untilMs }: Scope,
): boolean {
  return acceptedAtMs <= untilMs && making === order.making.token;
}
