import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { recoverAddress, Signature, TypedDataEncoder, Wallet } from 'ethers';
import { makeVectors, type Vectors } from './testing/make-vectors.js';

const vectors = JSON.parse(readFileSync(new URL('../vectors.json', import.meta.url), 'utf8')) as Vectors;
const all = [
  ...vectors.orders,
  ...vectors.cancellations,
  ...vectors.lists,
  ...vectors.orderRequests,
  ...vectors.accountRequests,
  ...vectors.historyRequests,
  ...vectors.streamRequests,
  ...vectors.cancelAlls,
  ...vectors.saltCancellations,
  ...vectors.heartbeats,
  ...vectors.cancelKeys,
  ...vectors.readKeys,
  ...vectors.fillCaps,
];
const { address } = new Wallet(vectors.keys.maker.privateKey);

test('vectors.json is what `npm run generate -w @makerbook/contracts-http` writes', () => {
  expect(vectors).toEqual(JSON.parse(JSON.stringify(makeVectors())));
});

describe('ethers agrees with the vector', () => {
  test.each(all)('$typedData.primaryType: $title', ({ typedData, digest, request, expected }) => {
    const { EIP712Domain = [], ...types } = typedData.types;
    // Ethers types a domain's salt as bytes32, whatever `types` says.
    if (!EIP712Domain.some(({ name, type }) => name === 'salt' && type === 'uint256')) {
      expect(TypedDataEncoder.hash(typedData.domain, types, typedData.message)).toBe(digest);
    }
    if ('code' in expected) return;
    const { r, s, yParity } = Signature.from(withV27(request.signature));
    expect(recoverAddress(digest, { r, s, yParity })).toBe(address);
  });

  test.each(vectors.receipts)('Receipt: $title', ({ typedData: { types, domain, message }, digest, answer }) => {
    const { EIP712Domain: _, ...structs } = types;
    expect(TypedDataEncoder.hash(domain, structs, message)).toBe(digest);
    expect(answer['X-Receipt']).toMatch(/^0x[0-9a-f]{130}$/);
  });
});

/** Adds 27 to a v of 0 or 1: ethers takes no other. */
function withV27(signature: string): string {
  const v = Number.parseInt(signature.slice(130), 16);
  return v < 2 ? `${signature.slice(0, 130)}${(27 + v).toString(16)}` : signature;
}
