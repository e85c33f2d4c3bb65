/**
 * A maker's bot with nothing but viem: signs two orders, posts them, waits until they can be filled, and cancels one.
 * `npm run example:maker-viem`
 */
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { createPublicClient, type Hex, http, pad, parseAbi, toHex, zeroAddress } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';

type LimitOrder = Record<'orderHash' | 'signature', Hex> & { order: { salt: Hex }; status: string; reason?: string };
type Problem = { code: string; detail?: string; retryable: boolean };
type Query = Record<string, string>;

const file = `${process.env['MAKERBOOK_DATA'] ?? '.local'}/stack.json`;
if (!existsSync(file)) throw new Error(`no stack runs here (${file} is missing): start it with \`npm start\``);
const stack = JSON.parse(readFileSync(file, 'utf8'));
// Account 1 of anvil: everyone has its key. `npm start` puts it on the whitelist, with tokens and their approval.
const key = process.env['MAKER_KEY'] ?? '0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d';
// An error of a library may show the key.
if (!/^0x(?!0{64}|[fF]{31})[0-9a-fA-F]{64}$/.test(key))
  throw new Error('MAKER_KEY is no private key: 0x and 64 hex digits');
const account = privateKeyToAccount(key as Hex);
const verifyingContract: Hex = stack.limitOrderProtocol;
const name = `${stack.serviceName} Limit Order Protocol`;
const orderDomain = { name, version: 'v0', chainId: stack.chainId, verifyingContract };
const fields = (type: string, ...names: string[]) => names.map((field) => ({ name: field, type }));
const amounts = fields('TokenAmount', 'making', 'taking');
const addresses = fields('address', 'maker', 'permittedTaker');
const Order = [...fields('uint256', 'salt', 'nonce', 'expiresAt'), ...amounts, ...addresses];
const TokenAmount = [...fields('address', 'token'), ...fields('uint256', 'amount')];
const randomSalt = () => toHex(randomBytes(32));
/** How far the service's clock is ahead of the local one, by its last answer. */
let aheadMs = 0;
const nowSeconds = () => Math.floor((Date.now() + aheadMs) / 1000);

/** Signs typed data (EIP-712). The first of `types` is the primary one. The domain of an order has no salt. */
function sign(types: Record<string, typeof Order>, message: Record<string, unknown>, salt?: Hex) {
  const [primaryType = ''] = Object.keys(types);
  const domain = salt === undefined ? orderDomain : { ...orderDomain, salt };
  return account.signTypedData({ domain, types, primaryType, message });
}

async function newOrder(nonce: Hex, usdt: bigint, weth: bigint) {
  const making = { token: stack.tokens[0].address, amount: toHex(usdt) };
  const taking = { token: stack.tokens[1].address, amount: toHex(weth) };
  const terms = { salt: randomSalt(), nonce, expiresAt: toHex(nowSeconds() + 3600), making, taking };
  const order = { ...terms, maker: account.address, permittedTaker: zeroAddress };
  return { order, signature: await sign({ Order, TokenAmount }, order) };
}

async function listQuery(): Promise<Query> {
  const [issuedAt, salt] = [String(nowSeconds() - 1), randomSalt()]; // go back a second because clocks differ
  const types = { GetLimitOrdersRequest: fields('uint256', 'issuedAt') };
  return { issuedAt, salt, signature: await sign(types, { issuedAt }, salt) };
}

async function cancelQuery({ orderHash, order }: LimitOrder): Promise<Query> {
  // The domain's salt is the order's: a uint256 in the interface. The service takes bytes32 too, all that viem has.
  const types = { OrderCancellationRequest: fields('bytes32', 'orderHash') };
  return { orderHashes: orderHash, signatures: await sign(types, { orderHash }, pad(order.salt)) };
}

/** Sends until there is an answer. Each try makes a new query: the service takes the signature of a list once. */
async function call(method: string, makeQuery: () => Query | Promise<Query>, body?: object): Promise<LimitOrder[]> {
  let mayBeStored = false;
  for (let attempt = 1; ; attempt += 1) {
    const url = `${stack.baseUrl}/v0alpha/limit-orders?${new URLSearchParams(await makeQuery())}`;
    const json = body && { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } };
    const response = await fetch(url, { method, ...json, signal: AbortSignal.timeout(10_000) }).catch(() => undefined);
    const serverMs = Number(response?.headers.get('x-server-time') ?? 0);
    if (serverMs > 0) aheadMs = serverMs - Date.now();
    const answer: unknown = await response?.json().catch(() => undefined);
    if (response?.ok && Array.isArray(answer)) return answer;
    // Try again without an answer, after one that was cut off, or after one of a gateway, not of the service.
    const isProblem = answer !== undefined && response?.headers.get('content-type')?.includes('problem+json') === true;
    const none: Problem = { code: 'no answer', detail: '', retryable: true };
    const { code, detail, retryable } = isProblem ? (answer as Problem) : none;
    if (code === 'duplicate' && mayBeStored) return []; // An earlier try stored the orders, and its answer was lost.
    if (!retryable || attempt === 6) throw new Error(`${method}: ${code} ${detail}`);
    mayBeStored ||= !isProblem || (response?.status ?? 0) >= 500;
    // `rate_limited` says when to try again. `unavailable` does not.
    await pause(Math.max(1000 * Number(response?.headers.get('retry-after') ?? 0), 250 * 2 ** attempt));
  }
}

// An order counts as cancelled if its nonce is not its maker's on the chain.
const abi = parseAbi(['function nonce(address) view returns (uint256)']);
const nonceCall = { address: verifyingContract, abi, functionName: 'nonce', args: [account.address] } as const;
const nonce = toHex(await createPublicClient({ transport: http(stack.rpcUrl) }).readContract(nonceCall));
const orders = [
  await newOrder(nonce, 100_000_000n, 4n * 10n ** 16n),
  await newOrder(nonce, 50_000_000n, 2n * 10n ** 16n),
];
await call('POST', () => ({}), orders); // all of them are stored, or none

let mine: LimitOrder[] = [];
for (let polls = 0; polls < 120; polls += 1) {
  mine = (await call('GET', listQuery)).filter((one) => orders.some(({ signature }) => signature === one.signature));
  // If a list lacks an order for now, it says so (`X-Read-Lag`). A later list has it.
  if (mine.length === orders.length && mine.every(({ status }) => status !== 'VALIDATING')) break;
  await pause(500);
}
// An INACTIVE order has a reason, and becomes ACTIVE as soon as the funds are there.
for (const { orderHash, status, reason } of mine) console.log('listed', orderHash, reason ?? status);
const [first] = mine;
if (first === undefined) throw new Error('the orders are gone: cancelled, or their nonce is not the chain’s any more');
const cancelled = await call('DELETE', () => cancelQuery(first));
for (const { orderHash, status } of cancelled) console.log('cancelled', orderHash, status);
