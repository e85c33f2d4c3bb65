import { describe, expect, test } from '@jest/globals';
import { type Address, type Hex, quantity } from '@makerbook/contracts-primitives';
import { AbiCoder, concat, keccak256 as ethersKeccak, TypedDataEncoder, zeroPadValue } from 'ethers';
import fc from 'fast-check';
import {
  bytesToHex,
  cancelAllRequestTypes,
  cancelBySaltRequestTypes,
  cancelKeysRequestTypes,
  createOrderHasher,
  createRequestHashers,
  createStructHasher,
  fillCapRequestTypes,
  getAccountRequestTypes,
  getLimitOrderHistoryRequestTypes,
  getLimitOrderRequestTypes,
  getLimitOrdersRequestTypes,
  heartbeatRequestTypes,
  hexToBytes,
  keccak256,
  type Order,
  orderCancellationRequestTypes,
  orderTypes,
  receiptTypes,
  type SigningDomain,
  saltedDomainTypes,
  streamLimitOrdersRequestTypes,
  type TypedField,
  typedDataDomain,
} from './index.js';
import { anyAddress, anyOrder, uint256 } from './testing/any-values.js';

const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });
const domain: fc.Arbitrary<SigningDomain> = fc.record({
  serviceName: fc.string({ unit: 'grapheme', maxLength: 60 }),
  chainId: uint256,
  verifyingContract: anyAddress,
});
const kaia: SigningDomain = {
  serviceName: 'Makerbook',
  chainId: 8217,
  verifyingContract: '0x00000000000000000000000000000000000000a1',
};

describe('the order hash', () => {
  test('is the digest of ethers in any domain', () => {
    fc.assert(
      fc.property(domain, anyOrder, (where, value) => {
        const hasher = createOrderHasher(where);
        expect(bytesToHex(hasher.domainSeparator)).toBe(TypedDataEncoder.hashDomain(typedDataDomain(where)));
        expect(bytesToHex(hasher.hashOrder(value))).toBe(
          TypedDataEncoder.hash(typedDataDomain(where), orderTypes, value),
        );
      }),
    );
  });

  test('does not depend on what was hashed before, and does not change when more is hashed', () => {
    fc.assert(
      fc.property(anyOrder, anyOrder, (first, second) => {
        const { hashOrder } = createOrderHasher(kaia);
        const hash = hashOrder(first);
        const kept = bytesToHex(hash);
        hashOrder(second);
        expect(bytesToHex(hash)).toBe(kept);
        expect(bytesToHex(hashOrder(first))).toBe(kept);
      }),
    );
  });

  test('takes addresses in any case', () => {
    const { hashOrder } = createOrderHasher(kaia);
    fc.assert(
      fc.property(anyOrder, (value) => {
        const upper: Order = { ...value, maker: `0x${value.maker.slice(2).toUpperCase()}` };
        expect(hashOrder(upper)).toEqual(hashOrder(value));
      }),
    );
  });

  test.each([
    ['a negative quantity', { salt: -1n }],
    ['a quantity over uint256', { nonce: 2n ** 256n }],
    ['a short address', { maker: '0x01' as Address }],
    ['an address without its prefix', { maker: 'a'.repeat(42) as Address }],
    ['an address with a character that is not hex', { maker: `0x${'0'.repeat(39)}g` as Address }],
    ['an address with a wide character', { maker: `0x${'0'.repeat(39)}İ` as Address }],
  ])('refuses %s', (_title, change) => {
    const zero: Address = `0x${'0'.repeat(40)}`;
    const side = { token: zero, amount: 0n };
    const numbers = { salt: 0n, nonce: 0n, expiresAt: 0n };
    const plain: Order = { ...numbers, making: side, taking: side, maker: zero, permittedTaker: zero };
    expect(() => createOrderHasher(kaia).hashOrder({ ...plain, ...change })).toThrow();
  });
});

describe('the digest of a request for a list, for the account, for the history or for a stream', () => {
  test.each([
    ['hashGetRequest', getLimitOrdersRequestTypes],
    ['hashAccountRequest', getAccountRequestTypes],
    ['hashHistoryRequest', getLimitOrderHistoryRequestTypes],
    ['hashStreamRequest', streamLimitOrdersRequestTypes],
  ] as const)('%s is the digest of ethers, with a short salt padded on the left', (hash, types) => {
    fc.assert(
      fc.property(domain, uint256, fc.uint8Array({ maxLength: 32 }), (where, issuedAt, salt) => {
        const padded = salt.length === 0 ? `0x${'00'.repeat(32)}` : zeroPadValue(salt, 32);
        expect(bytesToHex(createRequestHashers(where)[hash]({ issuedAt, salt }))).toBe(
          TypedDataEncoder.hash({ ...typedDataDomain(where), salt: padded }, types, { issuedAt }),
        );
      }),
    );
  });

  test('refuses a salt over 32 bytes', () => {
    const { hashGetRequest } = createRequestHashers(kaia);
    expect(() => hashGetRequest({ issuedAt: 0n, salt: new Uint8Array(33) })).toThrow(RangeError);
  });
});

/** Lets ethers hash a message in a domain with a salt of 32 bytes. */
const saltedHash = (where: SigningDomain, salt: Uint8Array, types: Record<string, TypedField[]>, message: object) =>
  TypedDataEncoder.hash({ ...typedDataDomain(where), salt: bytesToHex(salt) }, types, message);

test('the digest of a request for one order is the digest of ethers', () => {
  fc.assert(
    fc.property(domain, bytes(32), uint256, bytes(32), (where, orderHash, issuedAt, salt) => {
      const digest = createRequestHashers(where).hashOrderRequest({ orderHash, issuedAt, salt });
      const message = { orderHash, issuedAt };
      expect(bytesToHex(digest)).toBe(saltedHash(where, salt, getLimitOrderRequestTypes, message));
    }),
  );
});

describe('the digest of a cancellation', () => {
  test('with a bytes32 salt is the digest of ethers', () => {
    fc.assert(
      fc.property(domain, bytes(32), bytes(32), (where, orderHash, salt) => {
        const digest = createRequestHashers(where).hashCancellation({ orderHash, salt }, 'bytes32');
        expect(bytesToHex(digest)).toBe(saltedHash(where, salt, orderCancellationRequestTypes, { orderHash }));
      }),
    );
  });

  test('with a uint256 salt is the digest of the domain hashed as a struct of explicit types', () => {
    fc.assert(
      fc.property(domain, bytes(32), uint256, (where, orderHash, salt) => {
        const separator = TypedDataEncoder.hashStruct('EIP712Domain', saltedDomainTypes('uint256'), {
          ...typedDataDomain(where),
          salt,
        });
        const struct = TypedDataEncoder.hashStruct('OrderCancellationRequest', orderCancellationRequestTypes, {
          orderHash,
        });
        const hex = quantity(salt).slice(2);
        const saltBytes = hexToBytes(`0x${hex.length % 2 === 0 ? hex : `0${hex}`}`);
        expect(
          bytesToHex(createRequestHashers(where).hashCancellation({ orderHash, salt: saltBytes }, 'uint256')),
        ).toBe(ethersKeccak(concat(['0x1901', separator, struct])));
      }),
    );
  });

  test('refuses an order hash that is not 32 bytes', () => {
    const { hashCancellation } = createRequestHashers(kaia);
    expect(() => hashCancellation({ orderHash: new Uint8Array(31), salt: new Uint8Array(32) }, 'uint256')).toThrow();
  });
});

describe('hex', () => {
  test('decodes to the bytes it encodes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (value) => expect(hexToBytes(bytesToHex(value))).toEqual(value)),
    );
  });

  test.each(['0x0', '00', '0xzz', '0x0g', '0x0İ', '0xİ0', ''])('refuses %p', (text) => {
    expect(() => hexToBytes(text as Hex)).toThrow(TypeError);
  });
});

test('keccak256 is the keccak of ethers for any length', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 1000 }), (value) => {
      expect(bytesToHex(keccak256(value))).toBe(ethersKeccak(value));
    }),
  );
  expect(bytesToHex(keccak256(new Uint8Array(0)))).toBe(ethersKeccak(AbiCoder.defaultAbiCoder().encode([], [])));
});

describe('the digest of a message without a salt', () => {
  const hashes = (where: SigningDomain, types: Record<string, TypedField[]>, message: object) =>
    expect(bytesToHex(createStructHasher(where, types)(message))).toBe(
      TypedDataEncoder.hash(typedDataDomain(where), types, message),
    );

  const hashList = fc.array(bytes(32).map(bytesToHex), { maxLength: 6 });

  test('is the digest of ethers in any domain', () => {
    fc.assert(
      fc.property(
        domain,
        fc.record({ maker: anyAddress, making: anyAddress, taking: anyAddress, untilMs: uint256 }),
        fc.record({ cancelAt: uint256, issuedAtMs: uint256, keys: fc.array(anyAddress, { maxLength: 6 }) }),
        fc.record({ placed: hashList, cancelled: hashList, messages: hashList, position: fc.string() }),
        (where, all, { cancelAt, issuedAtMs, keys }, receipt) => {
          hashes(where, receiptTypes, receipt);
          const cap = { token: all.making, amount: all.untilMs, windowSeconds: cancelAt };
          hashes(where, cancelAllRequestTypes, all);
          hashes(where, heartbeatRequestTypes, { maker: all.maker, cancelAt, issuedAtMs });
          hashes(where, cancelKeysRequestTypes, { maker: all.maker, keys, issuedAtMs });
          hashes(where, cancelBySaltRequestTypes, {
            maker: all.maker,
            salts: [cancelAt, issuedAtMs],
            untilMs: cancelAt,
          });
          hashes(where, fillCapRequestTypes, { maker: all.maker, ...cap, issuedAtMs });
        },
      ),
    );
  });

  test('refuses a hash of another length', () => {
    const receipt = { placed: [`0x${'0'.repeat(62)}`], cancelled: [], messages: [], position: '0:0' };
    expect(() => createStructHasher(kaia, receiptTypes)(receipt)).toThrow(TypeError);
  });
});
