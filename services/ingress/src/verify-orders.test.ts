import { describe, expect, test } from '@jest/globals';
import { orderTypes, typedDataDomain } from '@makerbook/contracts-evm';
import type { Hex } from '@makerbook/contracts-primitives';
import { orderFromBody } from '@makerbook/domain';
import { isRefusal } from '@makerbook/http';
import { TypedDataEncoder, Wallet } from 'ethers';
import { parseCancellationQuery } from './parse-cancellations.js';
import { createCancellationVerifier } from './verify-cancellations.js';
import { createOrderVerifier } from './verify-orders.js';

const domain = { serviceName: 'Test', chainId: 8217, verifyingContract: `0x${'aa'.repeat(20)}` } as const;
const verifyInSlices = createOrderVerifier(domain);
const verify = (placements: Parameters<typeof verifyInSlices>[0]) => verifyInSlices(placements, async () => undefined);
const wallet = new Wallet(`0x${'42'.repeat(32)}`);
const body = {
  salt: '0x1f',
  nonce: '0x0',
  expiresAt: '0xffffffff',
  making: { token: `0x${'a1'.repeat(20)}`, amount: '0x1' },
  taking: { token: `0x${'b2'.repeat(20)}`, amount: `0x${'f'.repeat(64)}` },
  maker: wallet.address.toLowerCase(),
  permittedTaker: `0x${'00'.repeat(20)}`,
} as Parameters<typeof orderFromBody>[0];
const sign = async (using = domain as Parameters<typeof typedDataDomain>[0]) =>
  (await wallet.signTypedData(typedDataDomain(using), orderTypes, body)) as Hex;

describe('an order', () => {
  test('that its maker signed is proven, with the hash that the generic encoder gives', async () => {
    const signature = await sign();
    const order = orderFromBody(body);
    const orderHash = TypedDataEncoder.hash(typedDataDomain(domain), orderTypes, body);
    expect(await verify([{ order, signature }])).toEqual([{ order, orderHash, signature }]);
  });

  test.each([
    ['service name', { ...domain, serviceName: 'Other' }],
    ['chain', { ...domain, chainId: 1001 }],
    ['contract', { ...domain, verifyingContract: `0x${'ab'.repeat(20)}` as Hex }],
  ])('signed for another %s is not the maker’s', async (_name, other) => {
    const good = { order: orderFromBody(body), signature: await sign() };
    expect(await verify([good, { ...good, signature: await sign(other) }])).toMatchObject({
      code: 'invalid_signature',
      index: 1,
      errors: [{ pointer: '/1/signature' }],
    });
  });

  test.each(['salt', 'nonce', 'expiresAt'] as const)('with another %s than was signed is refused', async (field) => {
    const order = { ...orderFromBody(body), [field]: 77n };
    expect(await verify([{ order, signature: await sign() }])).toMatchObject({ code: 'invalid_signature', index: 0 });
  });
});

describe('a cancellation', () => {
  const orderHash = `0x${'cd'.repeat(32)}` as const;
  const types = { OrderCancellationRequest: [{ name: 'orderHash', type: 'bytes32' }] };
  const { findFault: check } = createCancellationVerifier(domain);
  const maker = wallet.address.toLowerCase() as Hex;

  test('signed as common wallets sign it is the maker’s, for its own salt alone, odd digits or padded', async () => {
    const salt = `0x${'1f'.padStart(64, '0')}`;
    const signature = await wallet.signTypedData({ ...typedDataDomain(domain), salt }, types, { orderHash });
    const query = new URLSearchParams({ orderHashes: orderHash, signatures: signature });
    const asked = parseCancellationQuery({ query, body: undefined }, 100);
    if (isRefusal(asked)) throw new Error(asked.detail);
    const [cancellation] = asked.cancellations;
    if (cancellation === undefined) throw new Error('no cancellation');
    expect(['0x1f', '0x01f', salt].map((text) => check(cancellation, maker, text as Hex))).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    expect(check(cancellation, maker, '0x1e')).toMatch(/^it recovers to 0x[0-9a-f]{40} .*uint256.* 0x[0-9a-f]{40}/);
    // The address that it recovers to tells the maker's own signature from a wrongly signed one.
    const other = check(cancellation, `0x${'11'.repeat(20)}`, '0x1f');
    expect(other).toContain(`and to ${maker} with bytes32`);
    expect(other).not.toContain('11'.repeat(20));
  });
});
