import type { MakerEvent } from '@makerbook/contracts-events';
import { type Hex, quantity, ZERO_ADDRESS } from '@makerbook/contracts-primitives';

/** The terms of an order that tests of the fold vary. */
export interface Terms {
  readonly orderHash: Hex;
  readonly maker: Hex;
  readonly making: Hex;
  readonly taking?: Hex;
  readonly amount?: bigint;
  readonly nonce?: bigint;
  readonly expiresAt: number;
  readonly acceptedAtMs: number;
}

/** The fact that an order was accepted. */
export function orderSubmitted(terms: Terms): Extract<MakerEvent, { type: 'OrderSubmitted' }> {
  const { orderHash, maker, making, taking = ZERO_ADDRESS, amount = 100n, nonce = 0n, expiresAt, acceptedAtMs } = terms;
  return {
    type: 'OrderSubmitted',
    maker,
    orderHash,
    order: {
      salt: '0x1',
      nonce: quantity(nonce),
      expiresAt: quantity(BigInt(expiresAt)),
      making: { token: making, amount: quantity(amount) },
      taking: { token: taking, amount: '0x1' },
      maker,
      permittedTaker: ZERO_ADDRESS,
    },
    signature: `0x${'00'.repeat(65)}`,
    acceptedAtMs,
    cause: { kind: 'request', requestId: 'r' },
  };
}
