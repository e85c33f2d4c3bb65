import { describe, expect, test } from '@jest/globals';
import {
  getLimitOrdersRequestTypes,
  orderCancellationRequestTypes,
  orderTypes,
  saltedDomainTypes,
} from '@makerbook/contracts-evm';
import { concat, keccak256, recoverAddress, TypedDataEncoder, Wallet } from 'ethers';
import fc from 'fast-check';
import { cancellationData, listData, orderData } from './browser/requests.js';
import { addressOf, createKey, signTypedData } from './browser/sign.js';
import { hashTypedData, type TypedData, typeString } from './browser/typed-data.js';
import { signedTypes } from './describe-interface.js';

const hex = (digits: number) => fc.stringMatching(new RegExp(`^0x[0-9a-f]{${digits}}$`));
const quantity = fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }).map((value) => `0x${value.toString(16)}`);
const amount = fc.record({ token: hex(40), amount: quantity });
const domain = fc.record({
  name: fc.string().map((name) => `${name} Limit Order Protocol`),
  version: fc.constant('v0'),
  chainId: fc.integer({ min: 1, max: 2 ** 31 }),
  verifyingContract: hex(40),
});
const anyDomain = { name: 'x', version: 'v0', chainId: 1, verifyingContract: `0x${'1'.repeat(40)}` };
const order = fc.record({
  salt: quantity,
  nonce: quantity,
  expiresAt: quantity,
  making: amount,
  taking: amount,
  maker: hex(40),
  permittedTaker: hex(40),
});

/** By ethers, which types a salt as bytes32. */
const hashOf = (
  { domain: { salt, ...rest }, message }: TypedData,
  types: Record<string, { name: string; type: string }[]>,
) => TypedDataEncoder.hash(salt === undefined ? rest : { ...rest, salt: String(salt) }, types, message);

describe('what the page hashes is what ethers hashes', () => {
  test('an order', () => {
    fc.assert(
      fc.property(domain, order, (signedFor, signed) => {
        const data = orderData(signedTypes, signedFor, signed);
        expect(hashTypedData(data)).toBe(hashOf(data, orderTypes));
      }),
    );
  });

  test('a list request', () => {
    fc.assert(
      fc.property(domain, fc.nat(), hex(64), (signedFor, issuedAt, salt) => {
        const data = listData(signedTypes, signedFor, issuedAt, salt);
        expect(hashTypedData(data)).toBe(hashOf(data, getLimitOrdersRequestTypes));
      }),
    );
  });

  test('a cancellation, with a salt of either type', () => {
    fc.assert(
      fc.property(domain, hex(64), quantity, (signedFor, orderHash, salt) => {
        const asBytes = cancellationData(signedTypes, signedFor, { orderHash, salt }, 'bytes32');
        expect(hashTypedData(asBytes)).toBe(hashOf(asBytes, orderCancellationRequestTypes));
        const asNumber = cancellationData(signedTypes, signedFor, { orderHash, salt }, 'uint256');
        const { EIP712Domain } = saltedDomainTypes('uint256');
        const separator = TypedDataEncoder.hashStruct('EIP712Domain', { EIP712Domain }, { ...signedFor, salt });
        const struct = TypedDataEncoder.from(orderCancellationRequestTypes).hash({ orderHash });
        expect(hashTypedData(asNumber)).toBe(keccak256(concat(['0x1901', separator, struct])));
      }),
    );
  });
});

describe('a signature of the page', () => {
  test('recovers to the address of its key, which is that of ethers', () => {
    fc.assert(
      fc.property(
        hex(64).filter((key) => BigInt(key) > 0n && BigInt(key) < 2n ** 255n),
        domain,
        order,
        (key, signedFor, signed) => {
          const data = orderData(signedTypes, signedFor, signed);
          expect(addressOf(key)).toBe(new Wallet(key).address.toLowerCase());
          const signature = signTypedData(data, key);
          expect(recoverAddress(hashTypedData(data), signature).toLowerCase()).toBe(addressOf(key));
          expect(signature).toBe(new Wallet(key).signingKey.sign(hashTypedData(data)).serialized);
        },
      ),
      { numRuns: 20 },
    );
  });

  test('can be made by a new key, and no two are the same', () => {
    const keys = [createKey(), createKey()];
    expect(new Set(keys).size).toBe(2);
    for (const key of keys) expect(addressOf(key)).toBe(new Wallet(key).address.toLowerCase());
  });
});

test('a value that its type cannot hold is refused', () => {
  const data = (issuedAt: number) => ({
    ...listData(signedTypes, anyDomain, 0, `0x${'0'.repeat(64)}`),
    message: { issuedAt },
  });
  expect(() => hashTypedData(data(-1))).toThrow(RangeError);
  expect(() => hashTypedData({ ...data(1), message: {} })).toThrow(TypeError);
});

test('the type string names the structs within', () => {
  expect(typeString(signedTypes.order, 'Order')).toBe(
    'Order(uint256 salt,uint256 nonce,uint256 expiresAt,TokenAmount making,TokenAmount taking,address maker,address permittedTaker)TokenAmount(address token,uint256 amount)',
  );
});
