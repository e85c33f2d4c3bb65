import type { ObservedFunds, TraceHeaders } from '@makerbook/contracts-events';
import type { Address, Hex } from '@makerbook/contracts-primitives';

/** The fields of an order that the watcher needs. */
export interface WatchedOrder {
  readonly orderHash: Hex;
  readonly maker: Address;
  readonly makingToken: Address;
  readonly takingToken: Address;
  readonly expiresAtSeconds: number;
  /** The signature that the maker's contract has to accept (EIP-1271); null where a key signed. */
  readonly walletSignature: Hex | null;
}

/** An order whose wallet may come to refuse it. */
export interface WalletOrder {
  readonly signature: Hex;
  /** Whether the wallet accepts the signature by its newest answer that holds; undefined until it is asked. */
  isAccepted: boolean | undefined;
  /** The same by the newest reading in the log; undefined where that does not say. */
  told: boolean | undefined;
}

/** An order of a wallet that it is asked about, by its slot. */
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
  /** Undefined until it was asked for its code. */
  hasCode: boolean | undefined;
  /** The block at which the sweep last asked; -1: it never did. */
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
  /** Their slots. */
  readonly orders: Set<number>;
  /** Those that no key has signed, by their slots. */
  readonly walletOrders: Map<number, WalletOrder>;
  /** Those of them that the wallet is to be asked about, the one that has waited longest first. */
  readonly unasked: Map<number, UnreadOrder>;
  /** What the wallet answered at an earlier block does not hold. */
  walletChangedAt: number;
  /** By token. */
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
