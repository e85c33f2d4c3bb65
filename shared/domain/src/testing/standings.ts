import type { Address, Hex } from '@makerbook/contracts-primitives';
import type { Placement } from '../decide-placement.js';
import { noExits } from '../exits.js';
import type { Order } from '../order.js';
import type { HashStanding, MakerStanding, Standing } from '../standing.js';

export const NOW_MS = 1_700_000_000_000;
export const addressOf = (number: number): Address => `0x${number.toString(16).padStart(40, '0')}`;
export const hashOf = (number: number): Hex => `0x${number.toString(16).padStart(64, '0')}`;

/** A maker about whom nothing is known. */
export const newMaker: MakerStanding = {
  orders: { left: undefined, atMs: 0 },
  cancels: { left: undefined, atMs: 0 },
  nonce: 0n,
  isQuarantined: false,
  open: 0,
  expired: 0,
  inFlight: 0,
  remembered: 0,
  onTheirWay: 0,
  exits: noExits,
  instructions: [],
  listed: [],
};

/** A standing of makers 1 and 2. */
export function standingOf(
  maker: Partial<MakerStanding> = {},
  hashes: readonly (readonly [number: number, hash: HashStanding])[] = [],
  more: Partial<Standing> = {},
): Standing {
  return {
    trustedSinceMs: 0,
    makers: new Map([
      [addressOf(1), { ...newMaker, ...maker }],
      [addressOf(2), newMaker],
    ]),
    hashes: new Map(hashes.map(([number, hash]) => [hashOf(number), hash])),
    ...more,
  };
}

/** An order of maker 1, whose hash and salt are its number. */
export function numbered(number: number, terms: Partial<Order> = {}): Placement['orders'][number] {
  const token = { token: addressOf(0xa), amount: 1n };
  const times = { salt: BigInt(number), nonce: 5n, expiresAt: BigInt(NOW_MS / 1000 + 60) };
  const [making, taking] = [token, { ...token, token: addressOf(0xb) }];
  const order = { ...times, making, taking, maker: addressOf(1), permittedTaker: addressOf(0), ...terms };
  return { orderHash: hashOf(number), order };
}

export const placing = { maker: addressOf(1), partition: 3, openOrdersMax: 100, nonce: undefined } as const;
export const budget = { ratePerSecond: 2, burst: 5 };

export function placementOf(orders: Placement['orders'], more: Partial<Placement> = {}): Placement {
  const makers = [...new Set(orders.map(({ order }) => order.maker))].sort();
  return {
    kind: 'placement',
    receivedAtMs: NOW_MS - 10,
    lastsMs: 8_000,
    validUntilMs: undefined,
    makers: makers.map((maker) => ({ ...placing, maker, budget })),
    orders,
    rememberedMax: 1_000,
    ...more,
  };
}
