import { encodeMakerEvent, type MakerEvent, type OrderBody, type OrderSubmitted } from '@makerbook/contracts-events';
import type { Hex } from '@makerbook/contracts-primitives';
import { partitionOf, type StoredRecord } from '@makerbook/kafka';
import fc from 'fast-check';

/** For tests: fact streams of one partition, as a log could hold them: repeats, late values, and blocks out of order. */

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

/** An order of the maker; the same number gives the same order. Small numbers collide in hash, time and amounts often. */
export function orderOf(maker: Hex, number: number): Pick<OrderSubmitted, 'order' | 'orderHash' | 'signature'> {
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
  return { order, orderHash, signature: `0x${'5'.repeat(130)}` };
}

/** A fact as it would be read from the log. */
export function storedRecord(fact: MakerEvent, place: { partition: number; offset: bigint }, timeMs = 0): StoredRecord {
  const context = {
    id: `${place.offset}`,
    source: '/test',
    timeMs,
    trace: { traceparent: traceparentOf(place.offset) },
  };
  const { key, value, headers } = encodeMakerEvent(fact, context);
  return { topic: 'maker-events', key: key ?? '', value, headers, timestampMs: timeMs, ...place };
}

/**
 * A stream of facts about the makers, in the order of the log, with gaps in the place of control records. The fewer orders
 * each maker has, the more often one is submitted again after it was removed.
 */
export function factStreams(
  makers: readonly Hex[],
  partition: number,
  size: { readonly min: number; readonly max: number; readonly orders: number; readonly unfoldable?: boolean },
): fc.Arbitrary<StoredRecord[]> {
  const steps = fc.array(
    fc.tuple(stepOf(makers, size.orders, size.unfoldable === true ? 1 : 0), fc.integer({ min: 0, max: 3 })),
    {
      minLength: size.min,
      maxLength: size.max,
    },
  );
  return steps.map((drawn) => {
    let seconds = startSeconds;
    let blockNumber = 100;
    let term = 1;
    let offset = 0n;
    return drawn.map(([step, gap]) => {
      offset += BigInt(gap === 3 ? 2 : 1);
      if (step.kind === 'block') {
        seconds += step.seconds;
        if (!step.isRepeated) blockNumber += 1;
      }
      if (step.kind === 'term') term += 1;
      const fact = factOf(step, { seconds, blockNumber, term });
      return storedRecord(fact, { partition, offset: offset - 1n }, seconds * 1000);
    });
  });
}

/** The stream, and at its end blocks of long after, so many seconds from the start: each makes much due. */
export function withLateBlocks(stream: readonly StoredRecord[], seconds: readonly number[]): StoredRecord[] {
  const { partition = 0, offset = -1n } = stream.at(-1) ?? {};
  const blocks = seconds.map((later, index) => {
    const block = blockAt(10_000 + later, startSeconds + later, 1_000);
    return storedRecord(block, { partition, offset: offset + BigInt(index + 1) });
  });
  return [...stream, ...blocks];
}

/** A fact that no build folds: ingress accepts no such order. */
export function unfoldable(maker: Hex): MakerEvent {
  const { order, orderHash, signature } = orderOf(maker, 999);
  const nothing = { ...order, making: { ...order.making, amount: quantity(0n) } };
  const cause = { kind: 'request' as const, requestId: 'request' };
  return { type: 'OrderSubmitted', maker, orderHash, order: nothing, signature, acceptedAtMs: 0, cause };
}

/** `BlockProcessed`. */
export function blockAt(number: number, timestamp: number, term = 1): MakerEvent {
  return { type: 'BlockProcessed', block: blockRef(number, timestamp), term };
}

/** What a watcher reads of new orders of a maker: nothing filled, nothing cancelled, funds for all of them. */
export function observedAt(
  maker: Hex,
  numbers: readonly number[],
  block: { readonly number: number; readonly timestamp: number },
  values: { readonly balance?: Hex; readonly allowance?: Hex; readonly nonce?: Hex } = {},
): MakerEvent {
  const { balance = '0xffff', allowance = '0xffff', nonce = '0x0' } = values;
  return {
    type: 'MakerObserved',
    maker,
    block: blockRef(block.number, block.timestamp),
    term: 1,
    cause: { kind: 'read', occasion: 'ORDER' },
    nonce,
    funds: [...new Set(numbers.map((number) => orderOf(maker, number).order.making.token))].map((token) => {
      return { token, balance, allowance };
    }),
    orders: numbers.map((number) => {
      return { orderHash: orderOf(maker, number).orderHash, filled: '0x0', cancelled: false };
    }),
  };
}

type Step =
  | {
      readonly kind: 'block';
      readonly seconds: number;
      readonly isRepeated: boolean;
      /** By a watcher that has lost its term. */
      readonly isLate: boolean;
    }
  | { readonly kind: 'term'; readonly isEnded: boolean }
  | { readonly kind: 'unfoldable'; readonly maker: Hex }
  | {
      readonly kind: 'order';
      readonly maker: Hex;
      readonly type: 'OrderSubmitted' | 'OrderCancelled';
      readonly number: number;
    }
  | {
      readonly kind: 'observed';
      readonly maker: Hex;
      readonly nonce: number | undefined;
      readonly funds: readonly { readonly token: Hex; readonly balance: number; readonly allowance: number }[];
      readonly orders: readonly { readonly number: number; readonly filled: number; readonly cancelled: boolean }[];
      /** How many blocks ago. */
      readonly late: number;
    }
  | {
      readonly kind: 'operator';
      readonly maker: Hex;
      readonly type: 'MakerAdmitted' | 'MakerSuspended' | 'MakerRemoved' | 'QuarantineLifted';
    };

function stepOf(makers: readonly Hex[], orders: number, unfoldable: number): fc.Arbitrary<Step> {
  const maker = fc.constantFrom(...makers);
  const number = fc.integer({ min: 0, max: orders - 1 });
  const rarely = fc.integer({ min: 0, max: 9 }).map((drawn) => drawn === 0);
  const amount = fc.integer({ min: 0, max: 35 });
  return fc.oneof(
    { weight: unfoldable, arbitrary: fc.record({ kind: fc.constant('unfoldable' as const), maker }) },
    {
      weight: 8,
      arbitrary: fc.record({
        kind: fc.constant('block' as const),
        seconds: fc.integer({ min: -4, max: 8 }),
        isRepeated: rarely,
        isLate: rarely,
      }),
    },
    { weight: 4, arbitrary: fc.record({ kind: fc.constant('term' as const), isEnded: fc.boolean() }) },
    {
      weight: 20,
      arbitrary: fc.record({
        kind: fc.constant('order' as const),
        maker,
        type: fc.constantFrom('OrderSubmitted' as const, 'OrderSubmitted' as const, 'OrderCancelled' as const),
        number,
      }),
    },
    {
      weight: 24,
      arbitrary: fc.record({
        kind: fc.constant('observed' as const),
        maker,
        nonce: fc.constantFrom(undefined, 0, 0, 0, 0, 0, 0, 1),
        funds: fc.constantFrom(tokens.slice(0, 1), tokens.slice(0, 2), tokens.slice(0, 2), []).chain((of) => {
          return fc.tuple(
            ...of.map((token) => fc.record({ token: fc.constant(token), balance: amount, allowance: amount })),
          );
        }),
        orders: fc.uniqueArray(fc.record({ number, filled: amount, cancelled: rarely }), {
          maxLength: 4,
          selector: (one) => one.number,
        }),
        late: fc.constantFrom(0, 0, 0, 1, -1),
      }),
    },
    {
      weight: 4,
      arbitrary: fc.record({
        kind: fc.constant('operator' as const),
        maker,
        type: fc.constantFrom(
          'MakerAdmitted' as const,
          'MakerSuspended' as const,
          'MakerRemoved' as const,
          'QuarantineLifted' as const,
        ),
      }),
    },
  );
}

interface Now {
  readonly seconds: number;
  readonly blockNumber: number;
  readonly term: number;
}

function factOf(step: Step, { seconds, blockNumber, term }: Now): MakerEvent {
  const cause = { kind: 'request' as const, requestId: 'request' };
  switch (step.kind) {
    case 'block':
      return blockAt(blockNumber, seconds, step.isLate ? Math.max(1, term - 1) : term);
    case 'term':
      return { type: step.isEnded ? 'TermEnded' : 'TermStarted', term, holder: 'a watcher' };
    case 'unfoldable':
      return unfoldable(step.maker);
    case 'operator':
      return { type: step.type, maker: step.maker, cause: { kind: 'operator', commandId: 'command' } };
    case 'order': {
      const { maker, type, number } = step;
      const { orderHash, order, signature } = orderOf(maker, number);
      if (type === 'OrderSubmitted') {
        return { type, maker, orderHash, order, signature, acceptedAtMs: seconds * 1000 + 500, cause };
      }
      return { type, maker, orderHash, expiresAtSeconds: Number(order.expiresAt), cause };
    }
    case 'observed': {
      const { maker, nonce, funds, orders, late } = step;
      return {
        type: 'MakerObserved',
        maker,
        block: blockRef(blockNumber + 1 - late, seconds),
        term,
        cause: { kind: 'read', occasion: 'SWEEP' },
        ...(nonce === undefined ? {} : { nonce: quantity(BigInt(nonce)) }),
        funds: funds.map(({ token, balance, allowance }) => {
          return { token, balance: quantity(BigInt(balance)), allowance: quantity(BigInt(allowance)) };
        }),
        orders: orders.map(({ number, filled, cancelled }) => {
          const { orderHash } = orderOf(maker, number);
          return { orderHash, filled: quantity(BigInt(Math.max(0, filled - 15))), cancelled };
        }),
      };
    }
  }
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
