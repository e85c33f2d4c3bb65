import { expect, test } from '@jest/globals';
import { createRequestHashers, typedDataDomain } from '@makerbook/contracts-evm';
import type { Hex } from '@makerbook/contracts-primitives';
import { isRefusal } from '@makerbook/http';
import { Wallet } from 'ethers';
import { parseCancellationQuery } from '../parse/parse-cancellations.js';
import { proveCancellation } from './prove-cancellations.js';

const domain = { serviceName: 'Test', chainId: 8217, verifyingContract: `0x${'aa'.repeat(20)}` } as const;
const wallet = new Wallet(`0x${'42'.repeat(32)}`);

const orderHash = `0x${'cd'.repeat(32)}` as const;
const types = { OrderCancellationRequest: [{ name: 'orderHash', type: 'bytes32' }] };
const hashers = createRequestHashers(domain);
const maker = wallet.address.toLowerCase() as Hex;

test('a cancellation that a common wallet signed counts only for its own salt, padded or not', async () => {
  const salt = `0x${'1f'.padStart(64, '0')}`;
  const signature = await wallet.signTypedData({ ...typedDataDomain(domain), salt }, types, { orderHash });
  const query = new URLSearchParams({ orderHashes: orderHash, signatures: signature });
  const asked = parseCancellationQuery({ query, headers: {} }, 100);
  if (isRefusal(asked)) throw new Error(asked.detail);
  const [cancellation] = asked.cancellations;
  if (cancellation === undefined) throw new Error('no cancellation');
  const check = (text: string, owner: string = maker) =>
    proveCancellation(hashers, cancellation, text as Hex, (signer) => (signer === owner ? signer : undefined));
  for (const text of ['0x1f', '0x01f', salt]) expect(check(text)).toEqual({ maker });
  const fault = expect.stringMatching(/^it recovers to 0x[0-9a-f]{40} .*uint256.* 0x[0-9a-f]{40}/);
  expect(check('0x1e')).toMatchObject({ fault });
  // The recovered address tells a maker's own signature from one that was signed wrongly.
  const other = check('0x1f', `0x${'11'.repeat(20)}`);
  expect(other).toMatchObject({ fault: expect.stringContaining(`and to ${maker} with bytes32`) });
  expect(other).not.toMatchObject({ fault: expect.stringContaining('11'.repeat(20)) });
});
