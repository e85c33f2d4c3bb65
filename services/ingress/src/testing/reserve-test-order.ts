import { expect } from '@jest/globals';
import type { Hex } from '@makerbook/contracts-primitives';
import { partitionOf } from '@makerbook/kafka';
import { reserveOrders } from '@makerbook/redis';
import type { Wallet } from 'ethers';
import { hashOf, type SignedOrder } from './sign-test-orders.js';
import type { TestIngress } from './start-test-ingress.js';

/** Reserves an order in Redis and does nothing else: all that a process has done of a POST that then hangs or dies. */
export async function reserveTestOrder(
  ingress: TestIngress,
  wallet: Wallet,
  signed: SignedOrder,
  { reservationId, leaseMs }: { readonly reservationId: string; readonly leaseMs: number },
): Promise<void> {
  const maker = wallet.address.toLowerCase() as Hex;
  const { salt, expiresAt } = signed.order;
  const outcome = await reserveOrders(ingress.redis, {
    reservationId,
    nowMs: Date.now(),
    receivedAtMs: Date.now(),
    leaseMs,
    makers: [
      {
        maker,
        partition: partitionOf(maker, ingress.partitions),
        budget: { ratePerSecond: 100, burst: 1000 },
        openOrdersMax: 1000,
      },
    ],
    orders: [{ makerIndex: 0, orderHash: hashOf(signed), salt: salt as Hex, expiresAtSeconds: Number(expiresAt) }],
    chargeOnly: false,
    firstRepeatAt: undefined,
  });
  expect(outcome.kind).toBe('reserved');
}
