import type { Address, Hex } from '@makerbook/contracts-primitives';
import fc from 'fast-check';
import { bytesToHex, type Order } from '../index.js';

export const hexOf = (length: number): fc.Arbitrary<Hex> =>
  fc.uint8Array({ minLength: length, maxLength: length }).map((bytes) => bytesToHex(bytes));

export const anyAddress: fc.Arbitrary<Address> = hexOf(20);

export const uint256 = fc.oneof(
  fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }),
  fc.bigInt({ min: 0n, max: 2n ** 64n }),
  fc.constantFrom(0n, 1n, 2n ** 64n - 1n, 2n ** 64n, 2n ** 128n, 2n ** 256n - 1n),
);

const amount = fc.record({ token: anyAddress, amount: uint256 });

export const anyOrder: fc.Arbitrary<Order> = fc.record({
  salt: uint256,
  nonce: uint256,
  expiresAt: uint256,
  making: amount,
  taking: amount,
  maker: anyAddress,
  permittedTaker: anyAddress,
});
