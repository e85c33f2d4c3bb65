import type { BookClock, BookEntry, BookRemovalReason } from '@makerbook/contracts-events';
import { type Address, type Hex, quantity } from '@makerbook/contracts-primitives';
import { Book, type BookChange } from '../book.js';
import { RankedOrders } from '../rank-orders.js';
import { clockRecord, entryRecord, hashOf, tombstone } from './feed-records.js';

/** An address that ends in the digits. */
export const addressOf = (digits: string): Address => `0x${digits.padStart(40, '0')}`;

/** A sells B for A: the taker pays `tokenIn`. */
export const pair = { tokenIn: addressOf('a'), tokenOut: addressOf('b') };

/** An order of a test, in plain numbers. Leave out what does not matter. */
export interface Given {
  readonly making: number | bigint;
  readonly taking: number | bigint;
  readonly remaining?: number | bigint;
  readonly maker?: string;
  /** The balance, which is the allowance too unless given, and the block at which both were read. */
  readonly funds?: number | bigint;
  readonly allowance?: number | bigint;
  readonly block?: number;
  readonly status?: BookEntry['status'];
  readonly routableUntil?: number;
  readonly acceptedAtMs?: number;
  readonly permittedTaker?: Address;
  readonly tokens?: typeof pair;
}

/** An entry of the feed. */
export function entryOf(orderHash: Hex, given: Given): BookEntry {
  const { making, taking, maker = 'c', tokens = pair, status = 'ACTIVE', funds = 1_000_000 } = given;
  const { allowance = funds, block = 1, permittedTaker = addressOf('0') } = given;
  const base = {
    type: 'BookEntry' as const,
    orderHash,
    order: {
      salt: '0x1' as const,
      nonce: '0x0' as const,
      expiresAt: '0x7ffffff' as const,
      making: { token: tokens.tokenOut, amount: quantity(BigInt(making)) },
      taking: { token: tokens.tokenIn, amount: quantity(BigInt(taking)) },
      maker: addressOf(maker),
      permittedTaker,
    },
    signature: `0x${'11'.repeat(65)}` as const,
    remainingMakingAmount: quantity(BigInt(given.remaining ?? making)),
    routableUntil: given.routableUntil ?? 2_000,
    acceptedAtMs: given.acceptedAtMs ?? 0,
    position: { partition: 3, offset: '0' },
    causes: ['OBSERVED' as const],
  };
  const funding = { balance: quantity(BigInt(funds)), allowance: quantity(BigInt(allowance)), block };
  if (status === 'VALIDATING') return { ...base, status };
  return status === 'ACTIVE'
    ? { ...base, status, funding }
    : { ...base, status, reason: 'INSUFFICIENT_BALANCE', funding };
}

/** A book with ranked orders, fed like a router's. Its clock is at block 9 and second 1,000. */
export function openRouterBook() {
  const [book, orders, changes] = [new Book(), new RankedOrders(), [] as BookChange[]];
  let offset = 0;
  const apply = (record: Parameters<Book['apply']>[0]) => {
    const change = book.apply(record);
    changes.push(change);
    orders.apply(change);
  };
  const routerBook = {
    orders,
    changes,
    entries: book.entries,
    clocks: book.clocks,
    put(name: string, given: Given) {
      routerBook.putEntry(entryOf(hashOf(name), given));
    },
    putEntry(entry: BookEntry) {
      offset += 1;
      const position = { partition: 3, offset: String(offset) };
      apply(entryRecord(entry.orderHash, { offset }, { ...entry, position }));
    },
    remove(name: string, removal: BookRemovalReason) {
      routerBook.removeEntry(hashOf(name), removal);
    },
    removeEntry(orderHash: Hex, removal: BookRemovalReason) {
      offset += 1;
      apply(tombstone(orderHash, removal, { offset }));
    },
    tick(block: BookClock['block']['number'], timestamp: number) {
      offset += 1;
      apply(clockRecord(block, { offset }, timestamp));
    },
  };
  routerBook.tick(9, 1_000);
  return routerBook;
}
