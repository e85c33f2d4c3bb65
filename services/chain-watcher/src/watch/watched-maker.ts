import type { ObservedFunds, TraceHeaders } from '@makerbook/contracts-events';
import type { Address, Hex } from '@makerbook/contracts-primitives';

/** The fields of an order that the watcher needs. */
export interface WatchedOrder {
  readonly orderHash: Hex;
  readonly maker: Address;
  readonly makingToken: Address;
  readonly takingToken: Address;
  readonly expiresAtSeconds: number;
  /** The signature that the maker's contract has to accept (EIP-1271); null if a key signed. */
  readonly walletSignature: Hex | null;
}

/** An order that its wallet may later refuse. */
export interface WalletOrder {
  readonly signature: Hex;
  /** Whether the wallet accepts the signature by its newest answer that holds; undefined until it is asked. */
  isAccepted: boolean | undefined;
  /** The same by the newest reading in the log; undefined if that does not say. */
  told: boolean | undefined;
}

/** An order that its wallet is asked about, named by its slot. */
export interface AskedOrder {
  readonly maker: WatchedMaker;
  readonly order: number;
  readonly own: WalletOrder;
}

/** A token that watched orders take. */
export interface TakingToken {
  readonly address: Address;
  /** How many watched orders take it. */
  orders: number;
  /** Undefined until the token was checked for code. */
  hasCode: boolean | undefined;
  /** The block at which the sweep last checked; -1: never. */
  sweptAt: number;
}

/** A maker and a token that its watched orders sell. */
export interface WatchedPair {
  readonly maker: WatchedMaker;
  readonly token: Address;
  /** How many watched orders sell the token. */
  orders: number;
  /** The newest reading in the log; undefined before the first. */
  funds: ObservedFunds | undefined;
}

/** A maker with all of its watched orders. */
export interface WatchedMaker {
  readonly address: Address;
  /** The orders' slots. */
  readonly orders: Set<number>;
  /** The orders that no key has signed, keyed by slot. */
  readonly walletOrders: Map<number, WalletOrder>;
  /** The orders that the wallet has to be asked about, keyed by slot. The one that has waited longest comes first. */
  readonly unasked: Map<number, UnreadOrder>;
  /** The wallet's answers at earlier blocks do not hold. */
  walletChangedAt: number;
  /** Keyed by token. */
  readonly pairs: Map<Address, WatchedPair>;
  /** The newest reading in the log; undefined before the first. */
  nonce: Hex | undefined;
}

/** An order that no reading in the log names yet. */
export interface UnreadOrder {
  readonly sinceMs: number;
  /** The trace of the request that submitted it. */
  readonly trace: TraceHeaders | undefined;
}

/** @param account an address, or a topic of a log that holds one */
export function addressIn(account: Hex): Address {
  return `0x${account.slice(-40)}`;
}

export function newMaker(address: Address): WatchedMaker {
  const orders = { orders: new Set<number>(), walletOrders: new Map(), unasked: new Map(), walletChangedAt: -1 };
  return { address, ...orders, pairs: new Map(), nonce: undefined };
}
