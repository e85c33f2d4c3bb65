import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import { createOrderHasher, createRequestHashers } from '@makerbook/contracts-evm';
import type { Address, Hex } from '@makerbook/contracts-primitives';
import { isRefusal } from '@makerbook/http';
import { readSettings } from '@makerbook/settings';
import { parseSignature } from '@makerbook/signatures';
import { type Acknowledged, createReceiptSigner } from './acknowledge/sign-receipts.js';
import { ingressSettings } from './env.js';
import { parsePlacements } from './parse/parse-placements.js';
import { proveCancellation } from './verify/prove-cancellations.js';
import { proveSignatures } from './verify/prove-orders.js';

interface OrderVector {
  readonly title: string;
  readonly request: unknown;
  readonly expected: { readonly orderHash?: Hex; readonly code?: string };
}

interface CancellationVector {
  readonly title: string;
  readonly order: { readonly maker: Address; readonly salt: Hex };
  readonly request: { readonly orderHash: Hex; readonly signature: Hex; readonly salt?: Hex };
  readonly expected: { readonly status?: string; readonly code?: string };
}

interface ReceiptVector {
  readonly title: string;
  readonly answer: { readonly 'X-Receipt': Hex };
  readonly typedData: { readonly message: Acknowledged & { readonly position: string } };
  readonly expected: { readonly isValid: boolean };
}

const file = fileURLToPath(import.meta.resolve('@makerbook/contracts-http/vectors.json'));
const vectors = JSON.parse(readFileSync(file, 'utf8')) as {
  readonly domain: { readonly chainId: number; readonly verifyingContract: Address };
  readonly orders: readonly OrderVector[];
  readonly cancellations: readonly CancellationVector[];
  readonly receipts: readonly ReceiptVector[];
  readonly keys: { readonly receiptSigner: { readonly privateKey: Hex; readonly address: Address } };
};
const domain = { ...vectors.domain, serviceName: 'Makerbook' };

describe('a published vector of an order', () => {
  const { hashOrder } = createOrderHasher(domain);
  const request = { client: '', charge: async () => undefined };

  test.each(vectors.orders)('$title', async ({ request: order, expected }) => {
    const placements = parsePlacements([order], 1);
    if (isRefusal(placements)) throw new Error(placements.detail);
    const proven = await proveSignatures({ hashOrder, nextSlice: async () => undefined }, request, placements);
    if (isRefusal(proven)) expect({ code: proven.code }).toEqual(expected);
    else expect({ orderHash: proven[0]?.orderHash }).toEqual(expected);
  });
});

describe('a published vector of a receipt', () => {
  const { privateKey, address } = vectors.keys.receiptSigner;
  const environment = {
    KAFKA_BROKERS: 'none:1',
    DATABASE_URL: 'postgres://none',
    SERVICE_NAME: 'Makerbook',
    CHAIN_ID: String(domain.chainId),
    LIMIT_ORDER_PROTOCOL_ADDRESS: domain.verifyingContract,
    RECEIPT_SIGNER_KEY: privateKey,
    RECEIPT_SIGNERS: address,
  };
  const sign = createReceiptSigner(readSettings(ingressSettings, environment));
  const right = vectors.receipts.filter(({ expected }) => expected.isValid);

  test.each(right)('$title', ({ typedData: { message }, answer }) => {
    expect(sign?.(message, message.position)).toBe(answer['X-Receipt']);
  });
});

describe('a published vector of a cancellation', () => {
  const hashers = createRequestHashers(domain);

  test.each(vectors.cancellations)('$title', ({ order, request, expected }) => {
    const signature = parseSignature(request.signature);
    const { orderHash, salt = order.salt } = request;
    const asked = { orderHash, signature, text: request.signature, salt };
    const makerOf = (signer: Address) => (signer === order.maker ? signer : undefined);
    const isProven = 'maker' in proveCancellation(hashers, asked, salt, makerOf);
    expect(isProven ? { status: 'CANCELLED' } : { code: 'invalid_signature' }).toEqual(expected);
  });
});
