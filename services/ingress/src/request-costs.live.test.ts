import { brotliCompressSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createOrderHasher } from '@makerbook/contracts-evm';
import { orderFromBody } from '@makerbook/domain';
import { isSignatureRefusal, parseSignature, recoverAddress } from '@makerbook/signatures';
import type { Wallet } from 'ethers';
import { newWallet, type SignedOrder, signOrder } from './testing/sign-test-orders.js';
import { issuer, navigator, quoteV0, serviceKey, signTestQuote } from './testing/sign-test-quotes.js';
import { startTestIngress, type TestIngress, testDomain } from './testing/start-test-ingress.js';

const ROUNDS = 5;
const CPU_MS_MAX = 50;
/** Plain requests, for machines that are slow: one takes three milliseconds where this was written. */
const PLAIN_MAX = 15;

let ingress: TestIngress;
let maker: Wallet;
let orders: SignedOrder[];
/** A request that is refused for its one signature. */
let plain: Sent;
let signatureMs = 0;

beforeAll(async () => {
  ingress = await startTestIngress({
    CLIENT_REQUESTS_MAX: '1000000',
    CANCEL_REQUESTS_MAX: '1000000',
    PATCH_REQUESTS_MAX: '1000000',
    ORDER_BUDGET_BURST: '100000',
    MAX_OPEN_ORDERS_PER_MAKER: '100000',
    NAVIGATOR_ADDRESS: navigator,
    QUOTE_SIGNER_KEY: serviceKey,
    QUOTE_SIGNERS: issuer,
  });
  maker = newWallet();
  await ingress.showMaker(maker);
  orders = await Promise.all(Array.from({ length: 100 }, () => signOrder(maker)));
  plain = post([{ ...orders[0], signature: orders[1]?.signature }]);
  await cpuMsOf(() => send(plain), 30);
  signatureMs = await cpuMsOf(async () => verify(orders[0] as SignedOrder), 50);
});
afterAll(() => ingress.stop());

/** CPU of this process, in which the service runs beside its client: so it is the service's and somewhat more. */
async function cpuMsOf(work: () => Promise<unknown>, rounds = ROUNDS): Promise<number> {
  const costs: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const before = process.cpuUsage();
    await work();
    const { user, system } = process.cpuUsage(before);
    costs.push((user + system) / 1000);
  }
  return costs.sort((a, b) => a - b)[Math.floor(costs.length / 2)] ?? 0;
}

const hasher = createOrderHasher(testDomain);
function verify(signed: SignedOrder): void {
  const signature = parseSignature(signed.signature);
  if (isSignatureRefusal(signature)) throw new Error('the signature is not one');
  const order = orderFromBody(signed.order as Parameters<typeof orderFromBody>[0]);
  if (recoverAddress(hasher.hashOrder(order), signature) === undefined) throw new Error('nobody signed it');
}

interface Sent {
  readonly method: 'POST' | 'DELETE' | 'PATCH';
  readonly query?: string;
  readonly body?: string | Buffer;
  readonly packed?: boolean;
}

const repeat = <T>(count: number, make: (n: number) => T) => Array.from({ length: count }, (_, n) => make(n));
const members = (count: number) => Object.fromEntries(repeat(count, (n) => [`k${n}`, 1]));
const post = (items: unknown): Sent => ({ method: 'POST', body: JSON.stringify(items) });
const postText = (body: string): Sent => ({ method: 'POST', body });
const cancel = (hashes: string, signatures: string): Sent => {
  return { method: 'DELETE', query: `?orderHashes=${hashes}&signatures=${signatures}` };
};
const hashes = (count: number) => repeat(count, (n) => `0x${n.toString(16).padStart(64, '0')}`).join(',');
const signatures = (count: number) => repeat(count, () => `0x${'11'.repeat(64)}1b`).join(',');
const patch = (data: string): Sent => {
  return { method: 'PATCH', body: JSON.stringify({ data, minOutput: { amount: '1' } }) };
};

async function send({ method, query = '', body, packed }: Sent): Promise<number> {
  const url = method === 'PATCH' ? ingress.url.replace('/v0alpha/limit-orders', '/v0/quote/data') : ingress.url;
  const headers = { 'content-type': 'application/json', ...(packed === true ? { 'content-encoding': 'br' } : {}) };
  const response = await fetch(`${url}${query}`, { method, headers, ...(body === undefined ? {} : { body }) });
  await response.text();
  return response.status;
}

/** Each kind of request, the status of its answer, and the number of valid signatures in it. */
const kinds: Readonly<Record<string, () => readonly [Sent, status: number, valid?: number]>> = {
  'a packed body': () => [{ ...post([]), body: brotliCompressSync('['.repeat(520_000)), packed: true }, 415],
  'a deep body': () => [postText('['.repeat(262_144)), 400],
  '100 items with 200 unknown keys each': () => [post(repeat(100, () => members(200))), 400],
  'an object of 20,000 keys': () => [post([members(20_000)]), 400],
  '100,000 values': () => [postText(`[${'1,'.repeat(100_000)}1]`), 400],
  '100 empty items': () => [post(repeat(100, () => ({}))), 400],
  'a string of 260,000 characters': () => [postText(`["${'x'.repeat(260_000)}"]`), 400],
  'a string of 130,000 escapes': () => [postText(`["${'\\"'.repeat(130_000)}"]`), 400],
  'a body that is too large': () => [postText('x'.repeat(1_000_000)), 413],
  '100 orders with no signature': () => {
    return [post(orders.map(({ order }) => ({ order, signature: `0x${'00'.repeat(65)}` }))), 403];
  },
  '100 orders, the last signature wrong': () => {
    return [post(orders.map((order, n) => (n < 99 ? order : { ...order, signature: orders[0]?.signature }))), 403, 99];
  },
  'DELETE of 100 unknown hashes': () => [cancel(hashes(100), signatures(100)), 200],
  'DELETE with 60,000 commas': () => [cancel(','.repeat(60_000), '0x'), 400],
  'DELETE with 30,000 parameters': () => [{ method: 'DELETE', query: `?${'a&'.repeat(30_000)}` }, 400],
  'PATCH of 130,000 bytes that are nothing': () => [patch(`0x${'ab'.repeat(130_000)}`), 400],
  'PATCH of a swap and 120,000 bytes behind it': () => [patch(signTestQuote(quoteV0) + '00'.repeat(120_000)), 400],
  'PATCH of a swap': () => [patch(signTestQuote(quoteV0)), 200, 2],
};

test.each(Object.keys(kinds))('%s costs its valid signatures and little more', async (kind) => {
  const [sent, status, valid = 0] = kinds[kind]?.() ?? [post([]), 0];
  expect(await send(sent)).toBe(status);
  // Beside it: other work on the machine makes both dearer.
  const measure = async () => {
    const plainMs = await cpuMsOf(() => send(plain));
    const beyondMs = (await cpuMsOf(() => send(sent))) - valid * signatureMs;
    return beyondMs / Math.max(CPU_MS_MAX, PLAIN_MAX * plainMs);
  };
  // What a neighbour costs here and there is not measured three times.
  expect(Math.min(await measure(), await measure(), await measure())).toBeLessThan(1);
});
