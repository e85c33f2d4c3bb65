import type { BookEntry } from '@makerbook/contracts-events';
import type { Head } from './drive-chain.js';
import { type Feed, lastUpTo, type Message } from './follow-feed.js';
import { GRACE_SECONDS, type TrackedOrder } from './judge-orders.js';
import type { Contracts } from './read-contracts.js';

/** The feed between two comparisons, and what it is held to. */
export interface FeedToCheck {
  readonly feed: Pick<Feed, 'messages' | 'processedAt' | 'processedBefore' | 'readUpTo' | 'deletedAt'>;
  readonly contracts: Contracts;
  /** Every order that was accepted: of one that is gone, what comes after that. */
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
 * last processed block, or at the newer one at which its maker was read last: what is read of a maker beyond the processed
 * blocks is all of it. That has to be true when the message is sent, and each time that another block is processed while the
 * message is the newest one: whichever watcher publishes, also one that
 * catches up; and for an order from its first message on, whatever happened to it before it was posted.
 */
export async function checkActive(given: FeedToCheck): Promise<Checked> {
  const found = await Promise.all(given.orders.map((order) => checkOrder(order, given)));
  return {
    wrong: found.flatMap(({ wrong }) => wrong),
    held: found.reduce((sum, { held }) => sum + held, 0),
  };
}

async function checkOrder(order: TrackedOrder, given: FeedToCheck): Promise<Checked> {
  const messages = given.feed.messages(order.signed.orderHash);
  const isNew = messages.slice(order.messagesChecked);
  order.messagesChecked = messages.length;
  const wrong = (await Promise.all(isNew.map((message) => misstatementsOf(order, message, given)))).flat();
  let held = 0;
  for (const moment of momentsOf(order, messages, isNew, given)) {
    const why = await whyNot(order, moment, given);
    const { message, block } = moment;
    if (why === undefined) held += 1;
    else
      wrong.push(
        `the router knew ${message.says} (offset ${message.offset}) with block ${block} processed, but ${why}`,
      );
  }
  return { wrong: wrong.map((text) => `${order.label}: ${text}`), held };
}

type ActiveEntry = Extract<BookEntry, { status: 'ACTIVE' }>;

/** The router knows this of an order, with this block processed, and the maker read at this block or before. */
interface Moment {
  readonly message: Message;
  readonly entry: ActiveEntry;
  readonly block: number;
  readonly read: number;
}

/** When ACTIVE was said, and each block that was processed while it stood. */
function momentsOf(
  { maker }: TrackedOrder,
  messages: readonly Message[],
  isNew: readonly Message[],
  { feed, blocks }: FeedToCheck,
): Moment[] {
  const said = isNew.map((message) => ({
    message,
    block: feed.processedBefore(maker, message.offset),
    at: message.offset,
  }));
  const stood = blocks.flatMap(({ number: block }) => {
    const at = feed.processedAt(maker, block);
    const message = at === undefined ? undefined : lastUpTo(messages, at);
    return at === undefined || message === undefined ? [] : [{ message, block, at }];
  });
  return [...said, ...stood].flatMap(({ message, block, at }) =>
    message.entry?.status === 'ACTIVE'
      ? [{ message, entry: message.entry, block, read: feed.readUpTo(maker, at) }]
      : [],
  );
}

/** What a message says that is not so, whatever its status. */
async function misstatementsOf(
  { signed, expiresAt, maker, token }: TrackedOrder,
  { entry, says, offset }: Message,
  { feed, contracts, suspectTokens }: FeedToCheck,
): Promise<string[]> {
  if (entry === undefined) return [];
  const wrong: string[] = [];
  const deletedAt = feed.deletedAt(signed.orderHash);
  if (deletedAt !== undefined && offset > deletedAt) wrong.push('it was deleted');
  const copy = JSON.stringify({ orderHash: entry.orderHash, order: entry.order, signature: entry.signature });
  const original = JSON.stringify({ orderHash: signed.orderHash, order: signed.order, signature: signed.signature });
  if (copy !== original) wrong.push(`it says ${copy}, but ${original} was signed`);
  const until = Math.max(0, expiresAt - GRACE_SECONDS);
  if (entry.routableUntil !== until) wrong.push(`it is routable until ${until}, not ${entry.routableUntil}`);
  if ('funding' in entry) {
    const { block } = entry.funding;
    const balance = await contracts.balance(maker, token, block);
    const allowance = await contracts.allowance(maker, token, block);
    const isSo = (said: string, value: bigint) =>
      BigInt(said) === value || (suspectTokens.has(token) && BigInt(said) === 0n);
    if (!isSo(entry.funding.balance, balance))
      wrong.push(`at ${block} the balance was ${balance}, not ${BigInt(entry.funding.balance)}`);
    if (!isSo(entry.funding.allowance, allowance))
      wrong.push(`at ${block} the allowance was ${allowance}, not ${BigInt(entry.funding.allowance)}`);
  }
  return wrong.map((why) => `the feed says ${says} (offset ${offset}), but ${why}`);
}

/** Why the order could not be filled at the processed block, or at the newer one at which its maker was read. */
async function whyNot(
  order: TrackedOrder,
  { entry, block, read }: Moment,
  given: FeedToCheck,
): Promise<string | undefined> {
  // A message says itself until when it is good: by the clock of the log it has to be good still.
  if (given.headOf(block).timestamp >= entry.routableUntil) return 'it was in its last minute';
  const at = Math.max(block, read);
  const reason = await whyNotAt(order, entry, at, given);
  return reason === undefined ? undefined : `at ${at} ${reason}`;
}

async function whyNotAt(
  { signed: { orderHash }, maker, token, amount, nonce }: TrackedOrder,
  entry: ActiveEntry,
  block: number,
  { contracts, silentTokens }: FeedToCheck,
): Promise<string | undefined> {
  const isSilent = silentTokens.has(token);
  const [isCancelled, itsNonce, filled, balance, allowance] = await Promise.all([
    contracts.isCancelled(orderHash, block),
    contracts.nonce(maker, block),
    contracts.filled(orderHash, block),
    contracts.balance(maker, token, isSilent ? entry.funding.block : block),
    contracts.allowance(maker, token, isSilent ? entry.funding.block : block),
  ]);
  const remaining = BigInt(entry.remainingMakingAmount);
  if (isCancelled) return 'it was cancelled';
  if (itsNonce !== nonce) return `the nonce was ${itsNonce}`;
  if (remaining > amount - filled) return `${filled} of ${amount} were filled`;
  if (allowance < remaining) return `the allowance was ${allowance}`;
  return balance < remaining ? `the balance was ${balance}` : undefined;
}
