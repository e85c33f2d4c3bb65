import { describe, expect, test } from '@jest/globals';
import {
  createRequestHashers,
  hexToBytes,
  orderCancellationRequestTypes,
  orderTypes,
  typedDataDomain,
} from '@makerbook/contracts-evm';
import { type Provider, recoverAddress, type Signer, VoidSigner, verifyTypedData, Wallet } from 'ethers';
import * as fc from 'fast-check';
import { createClient } from './create-client.js';
import { createRequestSigner } from './sign-requests.js';

const domain = { serviceName: 'Test', chainId: 8217n, verifyingContract: `0x${'12'.repeat(20)}` } as const;
const wallet = new Wallet(`0x${'07'.repeat(32)}`);
const signing = createRequestSigner(wallet, domain);
const uint256 = fc.bigInt({ min: 0n, max: 2n ** 256n - 1n });
const expiry = uint256.filter((time) => time >= 10n ** 9n && (time < 10n ** 11n || time >= 10n ** 14n));

const sideOf = (byte: string, amount = 1n) => ({ token: `0x${byte.repeat(20)}`, amount });
const client = createClient({
  ...domain,
  baseUrl: 'http://unused',
  signer: wallet,
  limitOrderProtocol: domain.verifyingContract.toUpperCase().replace('0X', '0x'),
});

describe('an order is signed', () => {
  test('so that it recovers to the maker, from the typed data of the interface and from its hash', async () => {
    await fc.assert(
      fc.asyncProperty(uint256, uint256, expiry, uint256, async (salt, nonce, expiresAt, amount) => {
        const sides = { making: sideOf('Ab', amount), taking: sideOf('cd') };
        const signed = await client.signOrder({ ...sides, expiresAt, nonce, salt });
        const recovered = verifyTypedData(typedDataDomain(domain), orderTypes, signed.order, signed.signature);
        expect(recovered).toBe(wallet.address);
        expect(recoverAddress(signed.orderHash, signed.signature)).toBe(wallet.address);
        expect(signed.order).toMatchObject({
          maker: wallet.address.toLowerCase(),
          permittedTaker: `0x${'00'.repeat(20)}`,
          salt: `0x${salt.toString(16)}`,
          making: { token: `0x${'ab'.repeat(20)}` },
        });
      }),
      { numRuns: 30 },
    );
  });
});

describe('a cancellation is signed', () => {
  const orderHash = `0x${'4e'.repeat(32)}` as const;
  const salt = 0x1234n;
  const bytes = { orderHash: hexToBytes(orderHash), salt: hexToBytes('0x1234') };
  const hashers = createRequestHashers(domain);

  test('with the salt as uint256 if the client holds the key, as the interface has it', async () => {
    const signature = await signing.signCancellation({ orderHash, salt });
    expect(recoverAddress(hashers.hashCancellation(bytes, 'uint256'), signature)).toBe(wallet.address);
  });

  test('with the salt as bytes32 by any other signer, which cannot use uint256', async () => {
    class Remote extends VoidSigner {
      override connect(_: Provider | null): VoidSigner {
        return this;
      }
      override signTypedData(...typed: Parameters<Signer['signTypedData']>): Promise<string> {
        return wallet.signTypedData(...typed);
      }
    }
    const remote = createRequestSigner(new Remote(wallet.address), domain);
    const signature = await remote.signCancellation({ orderHash, salt });
    expect(recoverAddress(hashers.hashCancellation(bytes, 'bytes32'), signature)).toBe(wallet.address);
    const padded = `0x${salt.toString(16).padStart(64, '0')}`;
    const typed = { ...typedDataDomain(domain), salt: padded };
    expect(verifyTypedData(typed, orderCancellationRequestTypes, { orderHash }, signature)).toBe(wallet.address);
  });
});
