/**
 * A maker's bot with `@makerbook/client`: signs two orders, posts them, waits until they can be filled, and
 * cancels one. `npm run example:maker`
 */
import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { createClient, type LimitOrderRecord, type Receipt, readPrivateKey, verifyReceipt } from '@makerbook/client';
import { Contract, JsonRpcProvider } from 'ethers';

interface Stack {
  readonly baseUrl: string;
  readonly rpcUrl: string;
  readonly chainId: number;
  readonly serviceName: string;
  readonly limitOrderProtocol: string;
  readonly tokens: readonly [{ readonly address: string }, { readonly address: string }];
}

const file = `${process.env['MAKERBOOK_DATA'] ?? '.local'}/stack.json`;
if (!existsSync(file)) throw new Error(`no stack runs here (${file} is missing): start it with \`npm start\``);
const stack: Stack = JSON.parse(readFileSync(file, 'utf8'));
// Account 1 of anvil: everyone has its key. `npm start` puts it on the whitelist, with tokens and their approval.
const key = process.env['MAKER_KEY'] ?? '0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d';

// The service's signed proofs of what it has stored, and where in its log. Keep them for disputes.
const receipts: Receipt[] = [];
const client = createClient({
  ...stack,
  onReceipt: (receipt) => void receipts.push(receipt),
  // The error of `readPrivateKey` does not show the key.
  signer: readPrivateKey('MAKER_KEY', key),
  // Retries what is `retryable`: after the time in Retry-After (`rate_limited`), else after a growing time
  // (`unavailable`, no answer).
  retry: { attemptsMax: 6, onRetry: ({ code }, ms) => console.log(`again in ${Math.ceil(ms)} ms: ${code}`) },
});

// An order counts as cancelled if its nonce is not its maker's on the chain.
const provider = new JsonRpcProvider(stack.rpcUrl);
const protocol = new Contract(stack.limitOrderProtocol, ['function nonce(address) view returns (uint256)'], provider);
const nonce: bigint = await protocol.getFunction('nonce').staticCall(await client.maker());
provider.destroy();

const [usdt, weth] = stack.tokens;
// Use the service's clock: the local one may be wrong.
const expiresAt = Math.floor((await client.serverTimeMs()) / 1000) + 3600;
const sign = (usdtAmount: bigint, wethAmount: bigint) =>
  client.signOrder({
    making: { token: usdt.address, amount: usdtAmount },
    taking: { token: weth.address, amount: wethAmount },
    expiresAt,
    nonce,
  });
const orders = [await sign(100_000_000n, 40n * 10n ** 15n), await sign(50_000_000n, 20n * 10n ** 15n)] as const;

// All orders are stored, or none. A try without an answer may have stored them: then the next try gets `duplicate`.
// The orders were signed just now, so `duplicate` can mean nothing else. For older orders, look at the list.
await client.placeOrders(orders, { duplicateCountsAsStored: true });

let mine: LimitOrderRecord[] = [];
for (let polls = 0; polls < 120; polls += 1) {
  const { records } = await client.listOrders();
  mine = records.filter((record) => orders.some(({ orderHash }) => orderHash === record.orderHash));
  // If a list lacks an order for now, it says so (`readLag`). A later list has it.
  if (mine.length === orders.length && mine.every(({ status }) => status !== 'VALIDATING')) break;
  await pause(500);
}
// An INACTIVE order has a reason, and becomes ACTIVE as soon as the funds are there.
for (const record of mine)
  console.log('listed', record.orderHash, record.status === 'INACTIVE' ? record.reason : record.status);

// This costs no gas, and counts only for the service and its router. The contract's `cancelOrder` counts for everybody.
const [first] = orders;
const cancelled = await client.cancelOrders([first]);

const info = await fetch(`${stack.baseUrl}/v0alpha/limit-orders/info`);
const { receiptSigners } = (await info.json()) as { readonly receiptSigners: readonly string[] };
for (const receipt of receipts) {
  if (!verifyReceipt(receipt, stack, receiptSigners)) throw new Error('the service did not sign a receipt');
  console.log('receipt', receipt.position);
}
for (const { orderHash, status } of cancelled) console.log('cancelled', orderHash, status);
