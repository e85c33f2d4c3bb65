import { describe, expect, test } from '@jest/globals';
import type { Address, Hex } from '@makerbook/contracts-primitives';
import { concat, Interface, TypedDataEncoder } from 'ethers';
import fc from 'fast-check';
import {
  bytesToHex,
  createSwapCallHasher,
  decodeSwapCall,
  deployArtifacts,
  encodeSwapCall,
  isSwapCallRefusal,
  navigatorDomainName,
  quoteV0Types,
  quoteV1Types,
  ROUTE_POOLS_MAX,
  type SigningDomain,
  SWAP_CALL_MAX_BYTES,
  type SwapCall,
  type SwapCallV0,
  type SwapCallV1,
  swapSelectors,
  typedDataDomain,
} from './index.js';
import { anyAddress, hexOf, uint256 } from './testing/any-values.js';

const BODY_LIMIT_BYTES = 256 * 1024;
const CPU_LIMIT_MS = 50;

const navigator = new Interface(deployArtifacts.Navigator.abi);
const common = {
  tokenIn: anyAddress,
  amountIn: uint256,
  tokenOut: anyAddress,
  deadline: uint256,
  pools: fc.array(anyAddress, { minLength: 1, maxLength: ROUTE_POOLS_MAX }),
  minOutput: fc.option(uint256, { nil: undefined }),
  signature: hexOf(65),
};
const v0: fc.Arbitrary<SwapCallV0> = fc.record({ version: fc.constant('v0' as const), ...common });
const v1: fc.Arbitrary<SwapCallV1> = fc.record({
  version: fc.constant('v1' as const),
  quoteId: uint256,
  recipient: anyAddress,
  ...common,
});
const call: fc.Arbitrary<SwapCall> = fc.oneof(v0, v1);
const domain: SigningDomain = {
  serviceName: 'Makerbook',
  chainId: 8217,
  verifyingContract: '0x00000000000000000000000000000000000000a1',
};

function oracleEncode(value: SwapCall): string {
  const minOutput = value.minOutput === undefined ? [] : [value.minOutput];
  return navigator.encodeFunctionData(value.version === 'v0' ? 'swapQuoteV0' : 'swapQuoteV1', [
    value,
    concat([...value.pools]),
    minOutput,
    value.signature,
  ]);
}

/** True if ethers decodes the bytes and encodes them unchanged, and the call is within the contract's limits. */
function oracleAccepts(data: Uint8Array): boolean {
  try {
    const parsed = navigator.parseTransaction({ data: bytesToHex(data) });
    if (parsed === null || !Object.values<string>(swapSelectors).includes(parsed.selector)) return false;
    const [, route, minOutput, signature] = parsed.args;
    const pools = (route.length - 2) / 40;
    const kept = Number.isInteger(pools) && pools >= 1 && pools <= ROUTE_POOLS_MAX;
    const again = navigator.encodeFunctionData(parsed.fragment, [...parsed.args]);
    return kept && minOutput.length <= 1 && signature.length === 132 && again === bytesToHex(data);
  } catch {
    return false;
  }
}

describe('a swap call', () => {
  test('encodes as ethers encodes it, and decodes to itself', () => {
    fc.assert(
      fc.property(call, (value) => {
        const data = encodeSwapCall(value);
        expect(bytesToHex(data)).toBe(oracleEncode(value));
        expect(decodeSwapCall(data)).toEqual(value);
        expect(data.length).toBeLessThanOrEqual(SWAP_CALL_MAX_BYTES);
      }),
      { numRuns: 500 },
    );
  });

  test('has the digest that ethers computes over everything but the signature', () => {
    const { hashSwapCall, domainSeparator } = createSwapCallHasher(domain);
    const where = typedDataDomain(domain, navigatorDomainName(domain.serviceName));
    expect(bytesToHex(domainSeparator)).toBe(TypedDataEncoder.hashDomain(where));
    fc.assert(
      fc.property(call, (value) => {
        const message = {
          ...value,
          route: concat([...value.pools]),
          minOutput: value.minOutput === undefined ? [] : [value.minOutput],
        };
        const oracle = TypedDataEncoder.hash(where, value.version === 'v0' ? quoteV0Types : quoteV1Types, message);
        expect(bytesToHex(hashSwapCall(value))).toBe(oracle);
        expect(bytesToHex(hashSwapCall({ ...value, signature: `0x${'00'.repeat(65)}` } as SwapCall))).toBe(oracle);
      }),
      { numRuns: 500 },
    );
  });

  test.each([
    ['no pools', { pools: [] }],
    ['too many pools', { pools: Array.from({ length: ROUTE_POOLS_MAX + 1 }, () => domain.verifyingContract) }],
    ['a pool that is no address', { pools: ['0x01' as Address] }],
    ['a short signature', { signature: `0x${'00'.repeat(64)}` as Hex }],
    ['a signature that is not hex', { signature: `0x${'zz'.repeat(65)}` as Hex }],
    ['a negative minimum', { minOutput: -1n }],
    ['a minimum over uint256', { minOutput: 2n ** 256n }],
  ])('is not encoded with %s', (_title, change) => {
    expect(() => encodeSwapCall({ ...sample('v1'), ...change })).toThrow();
  });

  test('is not hashed with too many pools', () => {
    const pools = Array.from({ length: ROUTE_POOLS_MAX + 1 }, () => domain.verifyingContract);
    expect(() => createSwapCallHasher(domain).hashSwapCall({ ...sample('v0'), pools })).toThrow(RangeError);
  });
});

describe('decoding accepts exactly what ethers reads and writes back unchanged', () => {
  test('for calls with one byte changed', () => {
    fc.assert(
      fc.property(call, fc.nat(), fc.integer({ min: 1, max: 255 }), (value, where, flip) => {
        const data = encodeSwapCall(value);
        const at = where % data.length;
        data[at] = (data[at] ?? 0) ^ flip;
        expect(!isSwapCallRefusal(decodeSwapCall(data))).toBe(oracleAccepts(data));
      }),
      { numRuns: 1000 },
    );
  });

  test('for calls that are cut or lengthened, or have a run of random bytes', () => {
    fc.assert(
      fc.property(
        call,
        fc.nat(),
        fc.nat(),
        fc.uint8Array({ minLength: 1, maxLength: 40 }),
        (value, from, to, noise) => {
          const good = encodeSwapCall(value);
          const [start, end] = [from % (good.length + 1), to % (good.length + 1)];
          for (const data of [
            good.subarray(0, start),
            Uint8Array.from([...good, ...noise]),
            Uint8Array.from([...good.subarray(0, start), ...noise, ...good.subarray(end)]),
          ]) {
            expect(!isSwapCallRefusal(decodeSwapCall(data))).toBe(oracleAccepts(data));
          }
        },
      ),
      { numRuns: 300 },
    );
  });

  test('and refuses two minimums, too many pools, a signature of another length and other functions', () => {
    const { pools, signature, ...quote } = sample('v1');
    const encode = (minOutput: bigint[], signed: string) =>
      navigator.encodeFunctionData('swapQuoteV1', [quote, concat([...pools]), minOutput, signed]);
    // v0 is shorter, so one pool more still fits into the bound on the bytes.
    const tooMany = concat(Array.from({ length: ROUTE_POOLS_MAX + 1 }, () => domain.verifyingContract));
    for (const [hex, code] of [
      [navigator.encodeFunctionData('swapQuoteV0', [quote, tooMany, [], signature]), 'not_canonical'],
      [encode([1n, 2n], signature), 'not_canonical'],
      [encode([1n], signature.slice(0, -2)), 'not_canonical'],
      [encode([1n], '0x'), 'too_short'],
      [navigator.encodeFunctionData('setQuoteSigner', [quote.tokenIn, true]), 'unknown_selector'],
      ['0x', 'too_short'],
      [swapSelectors.v0, 'too_short'],
    ] as const) {
      expect(decodeSwapCall(Buffer.from(hex.slice(2), 'hex'))).toEqual({ code });
    }
    expect(decodeSwapCall(new Uint8Array(SWAP_CALL_MAX_BYTES + 1))).toEqual({ code: 'too_long' });
  });
});

test('no payload up to the body limit costs more than 50 ms of CPU', () => {
  const good = encodeSwapCall(sample('v1'));
  let worstMs = 0;
  for (const size of [good.length, SWAP_CALL_MAX_BYTES, SWAP_CALL_MAX_BYTES + 1, BODY_LIMIT_BYTES]) {
    for (const fill of [0x00, 0xff, 0x20]) {
      const data = new Uint8Array(size).fill(fill);
      data.set(good.subarray(0, size));
      const before = process.cpuUsage();
      decodeSwapCall(data);
      const used = process.cpuUsage(before);
      worstMs = Math.max(worstMs, (used.user + used.system) / 1000);
    }
  }
  expect(worstMs).toBeLessThan(CPU_LIMIT_MS);
});

function sample(version: 'v0' | 'v1'): SwapCall {
  const shared = {
    tokenIn: '0x0000000000000000000000000000000000000001',
    amountIn: 100n,
    tokenOut: '0x0000000000000000000000000000000000000002',
    deadline: 2n ** 40n,
    pools: ['0x0000000000000000000000000000000000000003', '0x0000000000000000000000000000000000000004'],
    minOutput: 5n,
    signature: `0x${'11'.repeat(65)}`,
  } as const;
  if (version === 'v0') return { version, ...shared };
  return { version, quoteId: 9n, recipient: '0x0000000000000000000000000000000000000005', ...shared };
}
