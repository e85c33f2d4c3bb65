import type { BookEntry } from '@makerbook/contracts-events';
import type { Head } from './drive-chain.js';
import { type Feed, lastUpTo, type Told } from './follow-feed.js';
import { GRACE_SECONDS, type TrackedOrder } from './judge-orders.js';
import type { Contracts } from './read-contracts.js';

/** What the router was told between two comparisons. */
export interface Telling {
  readonly feed: Pick<Feed, 'told' | 'processedAt' | 'processedBefore' | 'readAt' | 'deletedAt'>;
  readonly contracts: Contracts;
  /** Every order that was accepted: of one that is gone, what is told after that. */
  readonly orders: readonly TrackedOrder[];
  /** The blocks that were made since. */
  readonly blocks: readonly Head[];
  readonly headOf: (block: number) => Head;
  /** Tokens whose balances change with no event: the router knows what they were when they were read. */
  readonly silentTokens: ReadonlySet<string>;
  /** Tokens that cannot always be read: where many such values are due at once, some count as zero until their turn comes. */
  readonly suspectTokens: ReadonlySet<string>;
}

/** What was found. */
export interface Checked {
  readonly wrong: readonly string[];
  /** How often ACTIVE was found to be right. */
  readonly held: number;
}

/**
 * Holds every message to the router to what it means. ACTIVE says that the order can be filled, with what remains, at the
 * last processed block, or at a newer one that was read from to say so. That has to be true when the message is sent, and
 * each time that another block is processed while the message stands: whoever wrote the facts, a watcher at work, one of
 * several, or one that catches up; and for an order from its first message on, whatever happened to it before it was posted.
 */
export async function checkActive(telling: Telling): Promise<Checked> {
  const found = await Promise.all(telling.orders.map((order) => checkOrder(order, telling)));
  return {
    wrong: found.flatMap(({ wrong }) => wrong),
    held: found.reduce((sum, { held }) => sum + held, 0),
  };
}

async function checkOrder(order: TrackedOrder, telling: Telling): Promise<Checked> {
  const told = telling.feed.told(order.signed.orderHash);
  const isNew = told.slice(order.messagesChecked);
  order.messagesChecked = told.length;
  const wrong = (await Promise.all(isNew.map((word) => misstatementsOf(order, word, told, telling)))).flat();
  let held = 0;
  for (const moment of momentsOf(order, told, isNew, telling)) {
    const why = await whyNot(order, moment, telling);
    const { word, block } = moment;
    if (why === undefined) held += 1;
    else wrong.push(`the router knew ${word.says} (offset ${word.offset}) with block ${block} processed, but ${why}`);
  }
  return { wrong: wrong.map((text) => `${order.label}: ${text}`), held };
}

type ActiveEntry = Extract<BookEntry, { status: 'ACTIVE' }>;

/** The router knows this of an order, with this block processed. */
interface Moment {
  readonly word: Told;
  readonly entry: ActiveEntry;
  readonly block: number;
}

/** When ACTIVE was said, and each block that was processed while it stood. */
function momentsOf(
  { maker }: TrackedOrder,
  told: readonly Told[],
  isNew: readonly Told[],
  { feed, blocks }: Telling,
): Moment[] {
  const said = isNew.map((word) => ({ word, block: feed.processedBefore(maker, word.offset) }));
  const stood = blocks.flatMap(({ number: block }) => {
    const at = feed.processedAt(maker, block);
    const word = at === undefined ? undefined : lastUpTo(told, at);
    return word === undefined ? [] : [{ word, block }];
  });
  return [...said, ...stood].flatMap(({ word, block }) =>
    word.entry?.status === 'ACTIVE' ? [{ word, entry: word.entry, block }] : [],
  );
}

/** What a message says that is not so, whatever its status. */
async function misstatementsOf(
  { signed, expiresAt, maker, token }: TrackedOrder,
  { entry, says, offset }: Told,
  told: readonly Told[],
  { feed, contracts, suspectTokens }: Telling,
): Promise<string[]> {
  if (entry === undefined) return [];
  const wrong: string[] = [];
  const endedAt = told.find((each) => each.entry === undefined)?.offset;
  const deletedAt = feed.deletedAt(signed.orderHash);
  if (endedAt !== undefined && offset > endedAt) wrong.push('it was taken from the feed');
  if (deletedAt !== undefined && offset > deletedAt) wrong.push('it was deleted');
  const copy = JSON.stringify({ orderHash: entry.orderHash, order: entry.order, signature: entry.signature });
  const original = JSON.stringify({ orderHash: signed.orderHash, order: signed.order, signature: signed.signature });
  if (copy !== original) wrong.push(`it says ${copy}, but ${original} was signed`);
  const until = Math.max(0, expiresAt - GRACE_SECONDS);
  if (entry.routableUntil !== until) wrong.push(`it is routable until ${until}, not ${entry.routableUntil}`);
  if ('funding' in entry) {
    const { balanceBlock, allowanceBlock } = entry.funding;
    const balance = await contracts.balance(maker, token, balanceBlock);
    const allowance = await contracts.allowance(maker, token, allowanceBlock);
    const isSo = (said: string, value: bigint) =>
      BigInt(said) === value || (suspectTokens.has(token) && BigInt(said) === 0n);
    if (!isSo(entry.funding.balance, balance))
      wrong.push(`at ${balanceBlock} the balance was ${balance}, not ${BigInt(entry.funding.balance)}`);
    if (!isSo(entry.funding.allowance, allowance))
      wrong.push(`at ${allowanceBlock} the allowance was ${allowance}, not ${BigInt(entry.funding.allowance)}`);
  }
  return wrong.map((why) => `the router was told ${says} (offset ${offset}), but ${why}`);
}

/** Why the order could not be filled at the block, nor at a later one up to that which was read from. */
async function whyNot(
  order: TrackedOrder,
  { word, entry, block }: Moment,
  telling: Telling,
): Promise<string | undefined> {
  const { balanceBlock, allowanceBlock } = entry.funding;
  const newest = Math.max(block, balanceBlock, allowanceBlock, telling.feed.readAt(order.maker, word.offset));
  // A message says itself until when it is good: by the clock of the log it has to be good still.
  if (telling.headOf(block).timestamp >= entry.routableUntil) return 'it was in its last minute';
  const reasons: string[] = [];
  for (let at = block; at <= newest; at += 1) {
    const reason = await whyNotAt(order, entry, at, telling);
    if (reason === undefined) return undefined;
    reasons.push(`at ${at} ${reason}`);
  }
  return reasons.join('; ');
}

async function whyNotAt(
  { signed: { orderHash }, maker, token, amount, nonce }: TrackedOrder,
  entry: ActiveEntry,
  block: number,
  { contracts, silentTokens }: Telling,
): Promise<string | undefined> {
  const isSilent = silentTokens.has(token);
  const [isCancelled, itsNonce, filled, balance, allowance] = await Promise.all([
    contracts.isCancelled(orderHash, block),
    contracts.nonce(maker, block),
    contracts.filled(orderHash, block),
    contracts.balance(maker, token, isSilent ? entry.funding.balanceBlock : block),
    contracts.allowance(maker, token, isSilent ? entry.funding.allowanceBlock : block),
  ]);
  const remaining = BigInt(entry.remainingMakingAmount);
  if (isCancelled) return 'it was cancelled';
  if (itsNonce !== nonce) return `the nonce was ${itsNonce}`;
  if (remaining > amount - filled) return `${filled} of ${amount} were filled`;
  if (allowance < remaining) return `the allowance was ${allowance}`;
  return balance < remaining ? `the balance was ${balance}` : undefined;
}
