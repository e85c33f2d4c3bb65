import type { CancelKeysSet, FillCapSet, OrdersCancelled, ReadKeys, SwitchSet } from '@makerbook/contracts-events';
import { bytesToHex, keccak256 } from '@makerbook/contracts-evm';
import type { Address, Hex } from '@makerbook/contracts-primitives';
import type { FillCap } from './fill-caps.js';
import type { LogClock } from './log-clock.js';
import type { OpenOrder } from './open-order.js';

/** The maker has cancelled all orders of these tokens that were accepted by then. A missing token stands for any. */
export type Cutoff = Pick<OrdersCancelled, 'making' | 'taking' | 'untilMs'>;

/** How a maker cancels all its orders, open or in flight, and what withholds them from the book. */
export interface Exits {
  /** One for each pair of tokens, kept until no older order can come. */
  readonly cutoffs: readonly Cutoff[];
  /** The dead-man's switch: the second at which orders that were accepted by then are cancelled. 0: never. */
  readonly cancelAt: number;
  /** When the newest switch was signed; 0 if its key was revoked since. */
  readonly switchIssuedAtMs: number;
  /** The key that signed the switch; null: the maker. Rows of earlier releases lack it. */
  readonly switchKey: Address | null;
  /** The addresses that may cancel for the maker. */
  readonly cancelKeys: readonly Address[];
  /** The addresses that may read for the maker. Rows of earlier releases lack it. */
  readonly readKeys: ReadKeys;
  /** When the newest keys were signed. */
  readonly keysIssuedAtMs: number;
  /** One for each token. */
  readonly caps: readonly FillCap[];
}

export const noExits: Exits = {
  cutoffs: [],
  cancelAt: 0,
  switchIssuedAtMs: 0,
  switchKey: null,
  cancelKeys: [],
  readKeys: {},
  keysIssuedAtMs: 0,
  caps: [],
};

/**
 * An append ends within seconds of the acceptance. The clock may be a minute ahead of the service's. Even so, after
 * this long every order that was accepted before a cutoff is in the log.
 */
const CUTOFF_SECONDS = 120;
/** The most cutoffs to keep, should the clock have stopped. The oldest are dropped. */
const CUTOFFS_MAX = 1_000;

/** True if the maker has cancelled the order with many others. */
export function isCutOff(
  { order, acceptedAtMs }: Pick<OpenOrder, 'order' | 'acceptedAtMs'>,
  { cutoffs, cancelAt }: Pick<Exits, 'cutoffs' | 'cancelAt'>,
  { seconds }: Pick<LogClock, 'seconds'>,
): boolean {
  if (cancelAt > 0 && cancelAt <= seconds && acceptedAtMs <= cancelAt * 1000) return true;
  return cutoffs.some(
    ({ making = order.making.token, taking = order.taking.token, untilMs }) =>
      acceptedAtMs <= untilMs && making === order.making.token && taking === order.taking.token,
  );
}

/** The facts by which a maker instructs about all its orders. */
export type ExitFact = OrdersCancelled | SwitchSet | CancelKeysSet | FillCapSet;
type WithoutCause<F> = F extends unknown ? Omit<F, 'cause'> : never;

/** The subject of a standing instruction. A newer instruction of the maker about the same subject replaces it. */
export function subjectOf(instruction: WithoutCause<Exclude<ExitFact, OrdersCancelled>>): string {
  switch (instruction.type) {
    case 'SwitchSet':
      return 'switch';
    case 'CancelKeysSet':
      return 'keys';
    case 'FillCapSet':
      return `cap:${instruction.token}`;
  }
}

/** Names a fact by its maker, subject and time. */
export function nameOfExit(fact: WithoutCause<ExitFact>): string {
  if (fact.type !== 'OrdersCancelled') return `${fact.maker}:${subjectOf(fact)}:${fact.issuedAtMs}`;
  const { maker, making, taking, untilMs } = fact;
  return `${maker}:${making ?? 'any'}:${taking ?? 'any'}:${untilMs}`;
}

/** A 32-byte mark for the fact while it is in flight, as an order has its hash. */
export function markOfExit(fact: WithoutCause<ExitFact>): Hex {
  return bytesToHex(keccak256(new TextEncoder().encode(nameOfExit(fact))));
}

/** Adds a cutoff and drops old ones. */
export function addCutoff(exits: Exits, added: Cutoff, { seconds }: Pick<LogClock, 'seconds'>): Exits {
  const isSame = ({ making, taking }: Cutoff) => making === added.making && taking === added.taking;
  const earlier = exits.cutoffs.find(isSame);
  if (earlier !== undefined && earlier.untilMs >= added.untilMs) return exits;
  const oldestMs = (seconds - CUTOFF_SECONDS) * 1000;
  const kept = exits.cutoffs.filter((each) => !isSame(each) && each.untilMs >= oldestMs);
  const { making, taking, untilMs } = added;
  return {
    ...exits,
    cutoffs: [...kept.slice(1 - CUTOFFS_MAX), { ...(making && { making }), ...(taking && { taking }), untilMs }],
  };
}

/** Sets the switch. A switch whose time has passed still holds for orders that come late. */
export function setSwitch(exits: Exits, fact: SwitchSet, clock: Pick<LogClock, 'seconds'>): Exits {
  const { cancelAt, issuedAtMs, key = null } = fact;
  const isByOther = key !== null && !exits.cancelKeys.includes(key);
  if (issuedAtMs <= exits.switchIssuedAtMs || isByOther) return exits;
  const hasPassed = exits.cancelAt > 0 && exits.cancelAt <= clock.seconds;
  const kept = hasPassed ? addCutoff(exits, { untilMs: exits.cancelAt * 1000 }, clock) : exits;
  return { ...kept, cancelAt, switchIssuedAtMs: issuedAtMs, switchKey: key };
}

/** Replaces the keys. A switch by a revoked key stays, and the next heartbeat counts, whatever its time. */
export function setCancelKeys(exits: Exits, fact: CancelKeysSet): Exits {
  const { keys, issuedAtMs } = fact;
  if (issuedAtMs <= exits.keysIssuedAtMs) return exits;
  const isRevoked = exits.switchKey !== null && !keys.includes(exits.switchKey);
  const time = isRevoked ? { switchIssuedAtMs: 0, switchKey: null } : {};
  return { ...exits, ...time, cancelKeys: keys, readKeys: readKeysOf(fact), keysIssuedAtMs: issuedAtMs };
}

/** The keys that may read; empty if a message names none of any kind. */
export function readKeysOf({ listKeys, streamKeys, historyKeys }: ReadKeys): ReadKeys {
  return { ...(listKeys && { listKeys }), ...(streamKeys && { streamKeys }), ...(historyKeys && { historyKeys }) };
}
