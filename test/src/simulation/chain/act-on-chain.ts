import { allowance, balanceOf, cancelledOf, filledOf, nonceOf, type StateCall } from '@makerbook/chain';
import {
  encodeMakerEvent,
  type MakerFact,
  type OrderSubmitted,
  type QuarantineLifted,
} from '@makerbook/contracts-events';
import { eventTopics } from '@makerbook/contracts-evm';
import { type Address, type Hex, quantity } from '@makerbook/contracts-primitives';
import { type LogRecord, partitionOf } from '@makerbook/kafka';
import type { Chance } from '@makerbook/parts';
import type { Chain } from './keep-chain.js';

/** Orders leave the book this many seconds before they expire. */
export const GRACE_SECONDS = 4;
export const PROTOCOL: Address = `0x${'ee'.repeat(20)}`;
/** A token whose balances also change without a log. */
export const SILENT: Address = addressOf(0x23);
export const TOKENS: readonly [Address, Address, Address] = [addressOf(0x21), addressOf(0x22), SILENT];
/** A token that is now and then too costly to read with a block, if the plan says so. */
export const BURNING: Address = TOKENS[1];
const SOMEBODY = addressOf(0x31);
/** A taking token that orders name before it has code, if the plan says so. */
const LATE = addressOf(0x24);
export const TAKEN: readonly [Address, Address] = [SOMEBODY, LATE];
/** Index of the maker that is a contract. */
export const WALLET = 2;
/** The key of the contract's owner. No key recovers to a contract. */
export const WALLET_KEY = new Uint8Array(32).fill(99);

/** An order that was signed, and perhaps posted. */
export interface SignedOrder {
  readonly label: string;
  readonly hash: Hex;
  readonly maker: Address;
  readonly token: Address;
  readonly taking: Address;
  readonly amount: bigint;
  readonly nonce: bigint;
  readonly expiresAt: number;
  /** True if it was signed with a nonce that the chain did not hold yet. */
  readonly wasAhead: boolean;
}

/** The makers, their orders, and their acts on the chain. */
export interface MakersAtWork {
  readonly orders: readonly SignedOrder[];
  /** Signs one more order, for the given maker and token if any. */
  sign(chance: Chance, nowSeconds: number, of?: Pick<SignedOrder, 'maker' | 'token'>): SignedOrder;
  /**
   * Does something in the next block. Returns it in words, undefined if it would have reverted.
   * @param draw the number that `chance` was created from
   */
  act(chance: Chance, draw: number): string | undefined;
  /** Fills an order in the next block, as `act` does. @param order any order if not given */
  fill(chance: Chance, order?: SignedOrder): string | undefined;
  /** Makes the maker's contract accept or refuse signatures from the next block on. */
  turn(isRefusing: boolean): void;
}

/** The call that tells whether a maker's contract refuses all signatures. Only makers with a contract are asked. */
export const refusesSignatures = (maker: Address): StateCall => ({ to: maker, data: '0x' });

/** The call that tells whether the token has no code. */
export const lacksCode = (token: Address): StateCall => ({ to: token, data: '0x' });

/** Returns the hash of the `number`th order, which has these terms. */
export type HashOrder = (terms: Omit<SignedOrder, 'hash'>, number: number) => Hex;

/** Opens makers with random balances and allowances in each token. */
export function openMakers(
  chain: Chain,
  first: Chance,
  makers: readonly [Address, ...Address[]],
  hashOrder: HashOrder,
  hasCostly = false,
): MakersAtWork {
  const orders: SignedOrder[] = [];
  if (hasCostly) chain.set(lacksCode(LATE), 1n);
  for (const maker of makers) {
    for (const token of TOKENS) {
      chain.set(balanceOf(token, maker), BigInt(first.below(14)));
      chain.set(allowance(token, maker, PROTOCOL), BigInt(first.below(30)));
    }
  }
  const wallet = makers[WALLET] ?? makers[0];
  const turn = (isRefusing: boolean) => {
    chain.set(refusesSignatures(wallet), isRefusing ? 1n : 0n);
    chain.emit(wallet, []);
  };
  return {
    orders,
    turn,
    sign: (chance, nowSeconds, of) => {
      const number = orders.length;
      const taking = hasCostly && number % 4 === 3 ? LATE : SOMEBODY;
      const terms = { ...drawTerms(chain, chance, of, makers, { number, nowSeconds }), taking };
      const order = { ...terms, hash: hashOrder(terms, orders.length) };
      orders.push(order);
      return order;
    },
    act: (chance, draw) => {
      const acts = actsOf(chain, chance, makers, orders);
      // Test the draw, not `chance`, so that the other acts of a kept run stay as they were.
      if (draw % 16 === 5) {
        const isRefusing = chain.value(refusesSignatures(wallet)) === 0n;
        turn(isRefusing);
        return `the contract of ${nameOf(wallet)} ${isRefusing ? 'refuses' : 'accepts'} its signatures`;
      }
      if (draw % 32 === 6 && chain.value(lacksCode(LATE)) === 1n) {
        chain.set(lacksCode(LATE), 0n);
        return `${nameOf(LATE)} has code`;
      }
      return acts[chance.pickWeighted({ move: 12, approve: 6, fill: 9, cancel: 5, cancelAll: 1 })]();
    },
    fill: (chance, order) => actsOf(chain, chance, makers, orders).fill(order),
  };
}

function actsOf(
  chain: Chain,
  chance: Chance,
  makers: readonly [Address, ...Address[]],
  orders: readonly SignedOrder[],
) {
  const balance = (maker: Address, token: Address) => chain.value(balanceOf(token, maker));
  const move = (maker: Address, token: Address) => chain.set(balanceOf(token, maker), BigInt(chance.below(14)));
  /** Picks a recent order most of the time. */
  const pickOrder = () => chance.pickAny(chance.oneIn(3) ? orders : orders.slice(-3));
  return {
    move: () => {
      const maker = chance.pick(makers);
      const token = chance.pick(TOKENS);
      move(maker, token);
      if (token === SILENT) return `${nameOf(maker)} has ${balance(maker, token)} of ${nameOf(token)}, silently`;
      const other = chance.oneIn(3) ? chance.pick(makers) : SOMEBODY;
      if (other !== SOMEBODY) move(other, token);
      const [from, to] = chance.oneIn(2) ? [maker, other] : [other, maker];
      const topic = chance.oneIn(5) && other === SOMEBODY ? 'deposit' : 'transfer';
      if (topic === 'deposit') chain.emit(token, [eventTopics.deposit, word(maker)]);
      else chain.emit(token, [eventTopics.transfer, word(from), word(to)]);
      return `${topic}: ${nameOf(maker)} has ${balance(maker, token)} of ${nameOf(token)}, ${nameOf(other)} ${balance(other, token)}`;
    },
    approve: () => {
      const maker = chance.pick(makers);
      const token = chance.pick(TOKENS);
      chain.set(allowance(token, maker, PROTOCOL), BigInt(chance.below(20)));
      chain.emit(token, [eventTopics.approval, word(maker), word(PROTOCOL)]);
      return `${nameOf(maker)} allows ${chain.value(allowance(token, maker, PROTOCOL))} of ${nameOf(token)}`;
    },
    fill: (order = pickOrder()) => {
      if (order === undefined) return undefined;
      const { maker, token, taking, hash, amount, nonce } = order;
      const filled = chain.value(filledOf(PROTOCOL, hash));
      const part = chance.oneIn(2) ? amount - filled : 1n;
      const allowed = chain.value(allowance(token, maker, PROTOCOL));
      const isFillable =
        chain.value(cancelledOf(PROTOCOL, hash)) === 0n &&
        chain.value(lacksCode(taking)) === 0n &&
        chain.value(refusesSignatures(maker)) === 0n &&
        chain.value(nonceOf(PROTOCOL, maker)) === nonce;
      if (!isFillable || part <= 0n || filled + part > amount) return undefined;
      if (allowed < part || balance(maker, token) < part) return undefined;
      chain.set(filledOf(PROTOCOL, hash), filled + part);
      chain.set(allowance(token, maker, PROTOCOL), allowed - part);
      chain.set(balanceOf(token, maker), balance(maker, token) - part);
      const amounts = [part, 1n, amount - filled - part].map((each) => each.toString(16).padStart(64, '0'));
      chain.emit(PROTOCOL, [eventTopics.orderFilled, word(maker), hash], `${word(SOMEBODY)}${amounts.join('')}`);
      chain.emit(taking, [eventTopics.transfer, word(SOMEBODY), word(maker)], '0x', true);
      chain.emit(token, [eventTopics.transfer, word(maker), word(SOMEBODY)], '0x', true);
      return `${order.label} is filled by ${part}, of ${nameOf(token)} remain ${balance(maker, token)}, allowed ${allowed - part}`;
    },
    cancel: () => {
      const order = pickOrder();
      if (order === undefined || chain.value(cancelledOf(PROTOCOL, order.hash)) !== 0n) return undefined;
      chain.set(cancelledOf(PROTOCOL, order.hash), 1n);
      chain.emit(PROTOCOL, [eventTopics.orderCancelled, word(order.maker), order.hash]);
      return `${order.label} is cancelled`;
    },
    cancelAll: () => {
      const maker = chance.pick(makers);
      const nonce = chain.value(nonceOf(PROTOCOL, maker)) + 1n;
      chain.set(nonceOf(PROTOCOL, maker), nonce);
      chain.emit(PROTOCOL, [eventTopics.allOrdersCancelled, word(maker)]);
      return `${nameOf(maker)} has the nonce ${nonce}`;
    },
  };
}

function drawTerms(
  chain: Chain,
  chance: Chance,
  of: Pick<SignedOrder, 'maker' | 'token'> | undefined,
  makers: readonly [Address, ...Address[]],
  { number, nowSeconds }: { readonly number: number; readonly nowSeconds: number },
): Omit<Parameters<HashOrder>[0], 'taking'> {
  const maker = of?.maker ?? chance.pick(makers);
  const wasAhead = chance.oneIn(8);
  return {
    label: `order ${number} of ${nameOf(maker)}`,
    maker,
    token: of?.token ?? chance.pick(TOKENS),
    amount: BigInt(chance.between(1, 9)),
    nonce: chain.value(nonceOf(PROTOCOL, maker)) + (wasAhead ? 1n : 0n),
    wasAhead,
    expiresAt: nowSeconds + (chance.oneIn(6) ? chance.between(8, 30) : 100_000),
  };
}

/** The fact that ingress appends when it accepts the order. */
function submittedBy(order: SignedOrder, nowMs: number): OrderSubmitted {
  const { maker, hash, token, amount, nonce, expiresAt } = order;
  return {
    type: 'OrderSubmitted',
    maker,
    orderHash: hash,
    order: {
      salt: '0x0',
      nonce: quantity(nonce),
      expiresAt: quantity(BigInt(expiresAt)),
      making: { token, amount: quantity(amount) },
      taking: { token: order.taking, amount: '0x1' },
      maker,
      permittedTaker: `0x${'0'.repeat(40)}`,
    },
    signature: `0x${'5'.repeat(130)}`,
    acceptedAtMs: nowMs,
    cause: { kind: 'request', requestId: order.label },
  };
}

/** An order that ingress should have refused. The projector cannot fold its maker. */
export function unfoldableOf(maker: Address, number: number, nowMs: number): OrderSubmitted {
  return submittedBy(
    {
      label: `what cannot be folded of ${nameOf(maker)}`,
      hash: `0x${number.toString(16).padStart(64, 'f')}`,
      maker,
      token: TOKENS[0],
      taking: SOMEBODY,
      amount: 0n,
      nonce: 0n,
      expiresAt: Math.floor(nowMs / 1000) + 10,
      wasAhead: false,
    },
    nowMs,
  );
}

export function recordOf(topic: string, partitions: number, fact: MakerFact | QuarantineLifted): LogRecord {
  const { key, value, headers } = encodeMakerEvent(fact, { id: 'request', source: '/ingress', timeMs: 0 });
  return { topic, partition: partitionOf(fact.maker, partitions), key: key ?? '', value, headers };
}

/** The last byte is enough to tell the addresses apart. */
export function nameOf(address: Address): string {
  return address.slice(-2);
}

function addressOf(byte: number): Address {
  return `0x${byte.toString(16).padStart(2, '0').repeat(20)}`;
}

function word(address: Address): Hex {
  return `0x${address.slice(2).padStart(64, '0')}`;
}
