import { createClient } from '@makerbook/client';
import type { Chance } from '@makerbook/parts';
import type { TrackedOrder } from './judge-orders.js';
import type { Fixture, FixtureToken } from './open-fixture.js';
import type { Simulation } from './open-simulation.js';

/** What is decided of an order before it is signed; the rest is drawn. */
export interface Terms {
  readonly maker: string;
  readonly nonce: bigint;
  /** What it sells. */
  readonly token?: string;
  readonly amount?: bigint;
  /** It lives for long. */
  readonly isLasting?: boolean;
}

export type SignOrder = (terms: Terms) => Promise<TrackedOrder>;

/** Makers that sign orders: of all tokens, and with lifetimes from none to hours. */
export function openSigning(
  { chain, serviceName, protocol }: Simulation,
  { makers, tokens }: Fixture,
  chance: Chance,
): SignOrder {
  const addresses = [...makers.keys()];
  let count = 0;
  return async ({ maker, nonce, token, amount = BigInt(chance.between(1, 80)), isLasting = false }) => {
    const { timestamp } = chain.head();
    // The wrapped token changes balances with events of its own: more often than one of seven.
    const wrapped = chance.oneIn(6) ? tokens.find(({ kind }) => kind === 'wrapped') : undefined;
    const making =
      tokens.find(({ address }) => address === token) ?? wrapped ?? (chance.pickAny(tokens) as FixtureToken);
    const taking = chance.pickAny(tokens.filter(({ kind }) => kind === 'plain')) as FixtureToken;
    const lifetime = isLasting ? 'long' : chance.pickWeighted({ long: 6, medium: 4, grace: 2, over: 1 });
    const seconds = {
      long: () => chance.between(1000, 8000),
      medium: () => chance.between(61, 400),
      grace: () => chance.between(1, 60),
      over: () => -chance.below(30),
    };
    const expiresAt = timestamp + seconds[lifetime]();
    const client = createClient({
      // Signing calls nobody.
      baseUrl: '',
      signer: makers.get(maker) ?? '0x',
      chainId: 8217,
      serviceName,
      limitOrderProtocol: protocol,
    });
    const other = tokens.find(({ kind, address }) => kind === 'plain' && address !== making.address) as FixtureToken;
    const signed = await client.signOrder({
      making: { token: making.address, amount },
      taking: { token: (taking.address === making.address ? other : taking).address, amount: 1n },
      nonce,
      expiresAt,
      salt: chance.wide(),
    });
    count += 1;
    const name = `maker${addresses.indexOf(maker)}`;
    return {
      label: `#${count} ${signed.orderHash.slice(0, 10)} (${name} sells ${amount} ${making.label}, nonce ${nonce}, expires ${expiresAt})`,
      signed,
      maker,
      token: signed.order.making.token,
      amount,
      nonce,
      expiresAt,
      comparedBeforeBlock: 0,
      isDeleted: false,
      wasDenied: false,
      wasOpen: false,
      wasActive: false,
      isGone: false,
      messagesChecked: 0,
    };
  };
}
