import {
  encodeMakerEvent,
  type MakerEvent,
  type OrderBody,
  type OrderSubmitted,
  topicNames,
} from '@makerbook/contracts-events';
import type { Hex } from '@makerbook/contracts-primitives';
import { partitionOf, type StoredRecord } from '@makerbook/kafka';
import { type Chance, createChance } from '@makerbook/parts';

/** Generates facts of one partition. */

export const startSeconds = 1_700_000_000;
const tokens = [addressOf(0xaa), addressOf(0xbb), addressOf(0xcc)];

/** Addresses that live in the partition. */
export function makersOf(partition: number, partitions: number, count: number): Hex[] {
  const makers: Hex[] = [];
  for (let seed = 1; makers.length < count; seed += 1) {
    const maker = addressOf(seed);
    if (partitionOf(maker, partitions) === partition) makers.push(maker);
  }
  return makers;
}

/** Some orders are signed by no key. */
const isByWallet = (number: number) => number % 4 === 3;

/** An order of the maker, the same for the same number. Small numbers often collide in hash, time and amounts. */
export function orderOf(
  maker: Hex,
  number: number,
): Pick<OrderSubmitted, 'order' | 'orderHash' | 'signature' | 'byWallet'> {
  const making = { token: tokens[number % 2] ?? tokens[0], amount: quantity(10n + BigInt(number % 3) * 10n) };
  const order: OrderBody = {
    salt: quantity(BigInt(number)),
    nonce: quantity(BigInt(number % 5 === 4 ? 1 : 0)),
    expiresAt: quantity(BigInt(startSeconds + 20 + (number % 7) * 50)),
    making: { token: making.token as Hex, amount: making.amount },
    taking: { token: tokens[2] as Hex, amount: quantity(7n) },
    maker,
    permittedTaker: addressOf(0),
  };
  const orderHash: Hex = `0x${maker.slice(2)}${number.toString(16).padStart(24, '0')}`;
  const named = { order, orderHash, signature: `0x${'5'.repeat(130)}` } as const;
  return isByWallet(number) ? { ...named, byWallet: true } : named;
}

/**
 * The order of that number, as the log has it.
 * @param expiresAt when it expires, in seconds, with nonce 0; left out: its number decides both
 */
export function submittedOf(maker: Hex, number: number, expiresAt?: number): OrderSubmitted {
  const { order, ...named } = orderOf(maker, number);
  const terms =
    expiresAt === undefined ? order : { ...order, nonce: quantity(0n), expiresAt: quantity(BigInt(expiresAt)) };
  const cause = { kind: 'request' as const, requestId: 'request' };
  return {
    type: 'OrderSubmitted',
    maker,
    ...named,
    order: terms,
    acceptedAtMs: startSeconds * 1000,
    cause,
  };
}

/** A fact as it would be read from the log. */
export function storedRecord(
  fact: MakerEvent,
  place: { partition: number; offset: bigint },
  timeMs = 0,
  storedByMs?: number,
): StoredRecord {
  const context = {
    storedByMs,
    id: `${place.offset}`,
    source: '/test',
    timeMs,
    trace: { traceparent: traceparentOf(place.offset) },
  };
  const { key, value, headers } = encodeMakerEvent(fact, context);
  return { topic: topicNames().makerEvents, key: key ?? '', value, headers, timestampMs: timeMs, ...place };
}

/**
 * Draws facts about the makers as a log could hold them: repeats, late values, and blocks out of order.
 * @param orders how many each maker has: with fewer, an order is more often submitted again after its removal
 */
function drawFacts(chance: Chance, makers: readonly Hex[], orders: number) {
  const cause = { kind: 'request' as const, requestId: 'request' };
  let seconds = startSeconds;
  let block = 100;

  function order(maker: Hex): MakerEvent {
    const submitted = orderOf(maker, chance.below(orders));
    if (chance.oneIn(3)) {
      const { order, orderHash } = submitted;
      return { type: 'OrderCancelled', maker, orderHash, expiresAtSeconds: Number(order.expiresAt), cause };
    }
    return { type: 'OrderSubmitted', maker, ...submitted, acceptedAtMs: seconds * 1000 + 500, cause };
  }

  function exit(maker: Hex): MakerEvent {
    const issuedAtMs = (seconds - chance.below(3)) * 1000;
    switch (chance.pick(['all', 'switch', 'switch', 'keys'] as const)) {
      case 'all': {
        const making = chance.oneIn(2) ? chance.pickAny(tokens) : undefined;
        const untilMs = (seconds - chance.below(120)) * 1000;
        return { type: 'OrdersCancelled', maker, ...(making && { making }), untilMs, cause };
      }
      case 'switch': {
        const cancelAt = chance.oneIn(2) ? 0 : seconds + chance.below(200);
        return { type: 'SwitchSet', maker, cancelAt, issuedAtMs, cause };
      }
      case 'keys':
        return { type: 'CancelKeysSet', maker, keys: chance.oneIn(2) ? [] : [addressOf(9)], issuedAtMs, cause };
    }
  }

  function observed(maker: Hex): MakerEvent {
    const nonce = chance.oneIn(8) ? undefined : quantity(chance.oneIn(8) ? 1n : 0n);
    const numbers = new Set(Array.from({ length: chance.below(5) }, () => chance.below(orders)));
    const amount = () => quantity(BigInt(chance.below(36)));
    return {
      type: 'MakerObserved',
      maker,
      block: blockRef(block + 1 - chance.pick([0, 0, 0, 1, -1]), seconds),
      cause: { kind: 'read', occasion: 'SWEEP' },
      ...(nonce === undefined ? {} : { nonce }),
      funds: tokens.slice(0, chance.pick([0, 1, 2, 2])).map((token) => {
        return { token, balance: amount(), allowance: amount() };
      }),
      orders: [...numbers].map((number) => {
        const filled = quantity(BigInt(Math.max(0, chance.below(36) - 15)));
        const { orderHash, byWallet } = orderOf(maker, number);
        const refused = byWallet && filled === '0x0' ? { refused: byWallet } : {};
        return { orderHash, filled, cancelled: chance.oneIn(10), ...refused };
      }),
    };
  }

  function next(): MakerEvent {
    const maker = chance.pickAny(makers) ?? addressOf(1);
    switch (chance.pickWeighted({ block: 8, resigned: 1, order: 20, exit: 1, observed: 24, operator: 4 })) {
      case 'block':
        seconds += chance.oneIn(6) ? 60 : chance.between(-4, 8);
        if (!chance.oneIn(10)) block += 1;
        // Now and then, one that was processed before.
        return blockAt(chance.oneIn(10) ? block - 1 : block, seconds);
      case 'resigned':
        return { type: 'WatcherResigned' };
      case 'operator':
        return decision(maker, chance);
      case 'order':
        return order(maker);
      case 'exit':
        return exit(maker);
      case 'observed':
        return observed(maker);
    }
  }

  /** Draws a fact, and returns it with the block's time. */
  return () => ({ fact: next(), seconds });
}

/** Draws facts in the order of the log, with gaps in place of control records. */
export function drawStream(
  seed: number,
  makers: readonly Hex[],
  partition: number,
  size: { readonly facts: number; readonly orders: number },
): StoredRecord[] {
  const chance = createChance(seed);
  const draw = drawFacts(chance, makers, size.orders);
  let offset = 0n;
  return Array.from({ length: size.facts }, () => {
    const { fact, seconds } = draw();
    const record = storedRecord(fact, { partition, offset }, seconds * 1000);
    offset += chance.oneIn(4) ? 2n : 1n;
    return record;
  });
}

/** A fact that no build folds: ingress accepts no such order. */
export function unfoldable(maker: Hex): MakerEvent {
  const { order, orderHash, signature } = orderOf(maker, 999);
  const nothing = { ...order, making: { ...order.making, amount: quantity(0n) } };
  const cause = { kind: 'request' as const, requestId: 'request' };
  return { type: 'OrderSubmitted', maker, orderHash, order: nothing, signature, acceptedAtMs: 0, cause };
}

/** An operator's decision: mostly an admission, because otherwise nearly all orders would be out of the book. */
function decision(maker: Hex, chance: Chance): MakerEvent {
  const cause = { kind: 'operator' as const, commandId: 'command' };
  const type = chance.pickWeighted({
    MakerAdmitted: 6,
    MakerSuspended: 2,
    MakerRemoved: 1,
    QuarantineLifted: 3,
    MakerLimitsSet: 1,
    ServiceModeSet: 1,
  });
  switch (type) {
    case 'ServiceModeSet':
      return { type, mode: chance.pick(['NORMAL', 'CANCEL_ONLY'] as const), cause };
    case 'MakerLimitsSet':
      return {
        type,
        maker,
        limits: chance.oneIn(2) ? {} : { openOrdersMax: chance.between(1, 3), ordersBurst: 2 },
        cause,
      };
    default:
      return { type, maker, cause };
  }
}

/** A `BlockProcessed` fact. */
export function blockAt(number: number, timestamp: number): MakerEvent {
  return { type: 'BlockProcessed', block: blockRef(number, timestamp) };
}

/** A reading of new orders of a maker: nothing filled, nothing cancelled, funds for all of them. */
export function observedAt(
  maker: Hex,
  numbers: readonly number[],
  block: { readonly number: number; readonly timestamp: number },
): MakerEvent {
  return {
    type: 'MakerObserved',
    maker,
    block: blockRef(block.number, block.timestamp),
    cause: { kind: 'read', occasion: 'ORDER' },
    nonce: '0x0',
    funds: [...new Set(numbers.map((number) => orderOf(maker, number).order.making.token))].map((token) => {
      return { token, balance: '0xffff', allowance: '0xffff' };
    }),
    orders: numbers.map((number) => {
      return { orderHash: orderOf(maker, number).orderHash, filled: '0x0', cancelled: false };
    }),
  };
}

function blockRef(number: number, timestamp: number) {
  return { number, hash: hashOf(number), timestamp };
}

function addressOf(seed: number): Hex {
  return `0x${seed.toString(16).padStart(40, '0')}`;
}

function hashOf(seed: number): Hex {
  return `0x${seed.toString(16).padStart(64, '0')}`;
}

function quantity(value: bigint): Hex {
  return `0x${value.toString(16)}`;
}

function traceparentOf(offset: bigint): string {
  return `00-${(offset + 1n).toString(16).padStart(32, '0')}-${(offset + 1n).toString(16).padStart(16, '0')}-01`;
}
