/**
 * A market maker's bot: keeps ten orders in the book and moves all of them every second, in one piece. A dead-man's
 * switch cancels them if the bot dies or loses its network. `npm run example:quoter`
 */
import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { createClient, MakerbookError, type OrderToReplace, readPrivateKey, type SignedOrder } from '@makerbook/client';

interface Stack {
  readonly baseUrl: string;
  readonly chainId: number;
  readonly serviceName: string;
  readonly limitOrderProtocol: string;
  readonly tokens: readonly [{ readonly address: string }, { readonly address: string }];
}

const QUOTES = 10;
const MOVE_MS = 1_000;
/** The most orders that one request can cancel. */
const CANCELS_MAX = 100;
const SWITCH_SECONDS = 5;

const file = `${process.env['MAKERBOOK_DATA'] ?? '.local'}/stack.json`;
if (!existsSync(file)) throw new Error(`no stack runs here (${file} is missing): start it with \`npm start\``);
const stack: Stack = JSON.parse(readFileSync(file, 'utf8'));
// Account 1 of anvil: everyone has its key. `npm start` puts it on the whitelist, with tokens and their approval.
const key = process.env['MAKER_KEY'] ?? '0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d';
const signer = readPrivateKey('MAKER_KEY', key);
const client = createClient({ ...stack, signer, retry: { attemptsMax: 6 } });
/** Sends heartbeats. It does not retry one whose answer is lost: a newer one follows. */
const impatient = createClient({ ...stack, signer, timeoutMs: 1_500 });

/** The orders that may be open, as far as this bot knows. */
const open = new Map<string, OrderToReplace>();
/** Cancel what may be open before placing new orders. */
let mustCancel = false;
let isStopping = false;

/** Takes over the orders that an earlier run has left in the book, then prints every fill. */
async function follow(onSnapshot: () => void): Promise<void> {
  for await (const event of client.streamOrders()) {
    if (event.event === 'snapshot') {
      for (const order of event.orders) open.set(order.orderHash, order);
      // One request cannot replace more.
      mustCancel ||= open.size > CANCELS_MAX;
      onSnapshot();
    } else if (event.event === 'change' && event.happened === 'FILLED') {
      console.log('filled', event.orderHash, BigInt(event.makingAmount), 'for', BigInt(event.takingAmount));
    }
  }
}

/** The time by the service's clock: the local one may be wrong. */
const nowSeconds = async () => Math.floor((await client.serverTimeMs()) / 1000);

/** Sends heartbeats. If the next one is late, the service cancels all orders. */
async function beat(): Promise<void> {
  for (; !isStopping; await pause(MOVE_MS)) {
    await impatient.sendHeartbeat((await nowSeconds()) + SWITCH_SECONDS).catch(complain);
  }
}

function complain(error: unknown): MakerbookError {
  if (!(error instanceof MakerbookError)) throw error;
  console.log('refused', error.code, error.detail);
  return error;
}

/** Cancels all that may be open, orders in flight included. */
async function cancelOpen(): Promise<void> {
  const orders = [...open.values()];
  for (let from = 0; from < orders.length; from += CANCELS_MAX)
    await client.cancelOrders(orders.slice(from, from + CANCELS_MAX));
  open.clear();
  mustCancel = false;
}

/** Signs new quotes around a price. */
async function signQuotes(price: bigint): Promise<readonly SignedOrder[]> {
  const [usdt, weth] = stack.tokens;
  // An order counts as cancelled if its nonce is not its maker's on the chain. `cancelAllOrders` raises the latter.
  const nonce = (await client.readAccount()).nonce ?? 0n;
  const expiresAt = (await nowSeconds()) + 300;
  const level = (n: number) =>
    client.signOrder({
      making: { token: usdt.address, amount: 1_000_000n },
      taking: { token: weth.address, amount: price + BigInt(n) * 10n ** 12n },
      expiresAt,
      nonce,
    });
  return Promise.all(Array.from({ length: QUOTES }, (_, n) => level(n)));
}

/** Replaces the open orders with new quotes, all or nothing. @returns whether to move again at once */
async function move(price: bigint): Promise<boolean> {
  const gone = [...open.values()];
  let orders: readonly SignedOrder[] = [];
  const keep = () => {
    for (const order of orders) open.set(order.orderHash, order);
  };
  try {
    orders = await signQuotes(price);
    // The orders were signed just now, so a duplicate can only mean that an earlier try has stored them.
    const options = { duplicateCountsAsStored: true, validUntilMs: (await client.serverTimeMs()) + 10_000 };
    await (gone.length === 0 ? client.placeOrders(orders, options) : client.replaceOrders(gone, orders, options));
    open.clear();
    keep();
    console.log('moved', gone.length);
    return false;
  } catch (failure) {
    const { code, index = 0, mayHaveHappened, problem } = complain(failure);
    // It is unknown whether the old or the new orders are open: keep both.
    if (mayHaveHappened) keep();
    const one = gone[index];
    // The order is filled or has expired, or the switch has cancelled it.
    if (one !== undefined && code === 'not_found') open.delete(one.orderHash);
    // The order is filled in part: the next move replaces what is left.
    if (one !== undefined && code === 'remaining_changed')
      open.set(one.orderHash, { ...one, remainingMakingAmount: problem?.remainingMakingAmount });
    // If the prices cannot be moved, cancel them.
    const isLeft = !mayHaveHappened && (code === 'not_found' || code === 'remaining_changed');
    mustCancel = !isLeft;
    return isLeft;
  }
}

await new Promise<void>((resolve) => void follow(resolve));
process.once('SIGTERM', () => (isStopping = true));
void beat();
for (let n = 0n; !isStopping; n += 1n) {
  const price = 400n * 10n ** 12n + (n % 10n) * 10n ** 10n;
  while (!mustCancel && (await move(price)));
  if (mustCancel) await cancelOpen().catch(complain);
  if (!isStopping) await pause(MOVE_MS);
}
await client.cancelAll();
process.exit(0);
