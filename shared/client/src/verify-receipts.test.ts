import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import { readReceipt, verifyReceipt } from './verify-receipts.js';

const file = fileURLToPath(import.meta.resolve('@makerbook/contracts-http/vectors.json'));
const vectors = JSON.parse(readFileSync(file, 'utf8'));
const { verifyingContract: limitOrderProtocol, chainId } = vectors.domain;
const domain = { serviceName: 'Makerbook', chainId, limitOrderProtocol };
const former = `0x${'ab'.repeat(20)}`;
const signers = [former, vectors.keys.receiptSigner.address.toUpperCase().replace('0X', '0x')];

/** The receipt of the answer of a vector. */
function receiptOf({ body, ...headers }: { readonly body: unknown } & Record<string, string>) {
  const receipt = readReceipt({ text: JSON.stringify(body), headers: new Headers(headers) }, domain);
  if (receipt === undefined) throw new Error('there is none');
  return receipt;
}

describe('a published vector of a receipt', () => {
  test.each<(typeof vectors.receipts)[number]>(vectors.receipts)('$title', ({ answer, expected }) => {
    expect(verifyReceipt(receiptOf(answer), domain, signers)).toBe(expected.isValid);
    // No receipt of an untrusted key is valid.
    expect(verifyReceipt(receiptOf(answer), domain, [former])).toBe(false);
    expect(verifyReceipt({ ...receiptOf(answer), signature: '0x12' }, domain, signers)).toBe(false);
  });
});

test('an answer without the receipt header has no receipt', () => {
  const headers = new Headers({ 'X-Log-Position': '3:17' });
  expect(readReceipt({ text: '[]', headers }, domain)).toBeUndefined();
});
