import { expect } from '@jest/globals';
import type { Hex } from '@makerbook/contracts-primitives';
import { partitionOf } from '@makerbook/kafka';
import { openPlacementStore } from '@makerbook/postgres';
import type { Wallet } from 'ethers';
import { hashOf, type SignedOrder } from './sign-test-orders.js';
import type { TestIngress } from './start-test-ingress.js';

/**
 * Places an order in Postgres and does nothing else: all that a process has done of a POST that then hangs or dies.
 * @returns when its append counts as ended
 */
export async function placeTestOrder(
  ingress: TestIngress,
  wallet: Wallet,
  signed: SignedOrder,
  settledMs: number,
): Promise<number> {
  const maker = wallet.address.toLowerCase() as Hex;
  const { salt, expiresAt } = signed.order;
  const untilMs = Date.now() + settledMs;
  const outcome = await openPlacementStore(ingress.postgres).place({
    nowMs: Date.now(),
    receivedAtMs: Date.now(),
    untilMs,
    makers: [
      {
        maker,
        partition: partitionOf(maker, ingress.partitions),
        budget: { ratePerSecond: 100, burst: 1000 },
        openOrdersMax: 1000,
      },
    ],
    orders: [
      {
        makerIndex: 0,
        orderHash: hashOf(signed),
        salt: salt as Hex,
        nonce: BigInt(signed.order.nonce),
        expiresAtSeconds: Number(expiresAt),
      },
    ],
    rememberedMax: 10_000_000,
    chargeOnly: false,
    firstRepeatAt: undefined,
  });
  expect(outcome.kind).toBe('placed');
  return untilMs;
}
