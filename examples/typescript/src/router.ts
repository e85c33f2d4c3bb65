/**
 * A router's reader in TypeScript, on the reference consumer of the feed (`shared/book`): holds the open orders, and
 * prints which can be filled, how, and when the feed is not to be used. `npm run example:router`, until Ctrl-C.
 */
import { existsSync, readFileSync } from 'node:fs';
import { type BookChange, followBook } from '@makerbook/book';
import type { BookEntry } from '@makerbook/contracts-events';
import { connectLog } from '@makerbook/kafka';
import { silentLogger } from '@makerbook/telemetry';

const STALE_SECONDS_MAX = 5;
const ZERO_ADDRESS = `0x${'0'.repeat(40)}`;
const stackFile = `${process.env['MAKERBOOK_DATA'] ?? '.local'}/stack.json`;
if (!existsSync(stackFile)) throw new Error(`there is no ${stackFile}: start the stack first, with \`npm start\``);
const { kafkaBrokers } = JSON.parse(readFileSync(stackFile, 'utf8'));

const log = connectLog({ brokers: kafkaBrokers.split(','), clientId: 'example-router', logger: silentLogger });
let isComplete = false;
const book = followBook(log, {
  topic: `${process.env['TOPIC_PREFIX'] ?? ''}limit-orders.book.v1`,
  onChange: (change) => {
    if (isComplete) report(change);
  },
  // The feed broke its promise, or cannot be read: what the book holds is not to be used.
  onFatal: (error) => {
    console.error(error.message);
    process.exit(1);
  },
});
await book.caughtUp;
isComplete = true;
console.log(`snapshot: ${book.entries.size} open orders`);
for (const entry of book.entries.values()) reportOrder(entry);

let isStale: boolean | undefined;
setInterval(() => {
  // The time of the block up to which every partition is complete. It moves with each block, also when no order does.
  const age = Date.now() / 1000 - (book.staleSince() ?? 0);
  if (isStale === age > STALE_SECONDS_MAX) return;
  isStale = age > STALE_SECONDS_MAX;
  console.log(isStale ? `STALE: the last block is ${age.toFixed(0)} s old, fill nothing` : 'FRESH');
}, 500);

function report(change: BookChange): void {
  if (change.kind === 'entry') reportOrder(change.entry);
  if (change.kind === 'removed') console.log(`GONE ${change.orderHash} ${change.removal}`);
}

function reportOrder({ orderHash, order, status, remainingMakingAmount, routableUntil }: BookEntry): void {
  if (status !== 'ACTIVE' || Date.now() / 1000 >= routableUntil) return console.log(`${status} ${orderHash}`);
  const { making, taking, permittedTaker } = order;
  // In full or in part; the contract rounds up what the taker pays. Two orders of a maker may draw on the same funds.
  const makingAmount = BigInt(remainingMakingAmount);
  const product = makingAmount * BigInt(taking.amount);
  const takingAmount = (product + BigInt(making.amount) - 1n) / BigInt(making.amount);
  const taker = permittedTaker === ZERO_ADDRESS ? 'anyone' : permittedTaker;
  console.log(`ACTIVE ${orderHash} fillOrder(order, signature, ${makingAmount}, ${takingAmount}) by ${taker}`);
}
