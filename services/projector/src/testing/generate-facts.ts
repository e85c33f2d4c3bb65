import {
  encodeMakerEvent,
  type Hex,
  type MakerEvent,
  type OrderBody,
  type OrderSubmitted,
} from '@makerbook/contracts-events';
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
  const context = { id: `${place.offset}`, source: '/test', timeMs, traceparent: traceparentOf(place.offset) };
  const { key, value, headers } = encodeMakerEvent(fact, context);
  return { topic: 'maker-events', key: key ?? '', value, headers, timestampMs: timeMs, ...place };
}

/**
 * A stream of facts about the makers, in the order of the log, with gaps where control records stand. The fewer orders
 * each maker has, the more often one is submitted again after it was removed.
 */
export function factStreams(
  makers: readonly Hex[],
  partition: number,
  size: { readonly min: number; readonly max: number; readonly orders: number },
): fc.Arbitrary<StoredRecord[]> {
  const steps = fc.array(fc.tuple(stepOf(makers, size.orders), fc.integer({ min: 0, max: 3 })), {
    minLength: size.min,
    maxLength: size.max,
  });
  return steps.map((drawn) => {
    let seconds = startSeconds;
    let blockNumber = 100;
    let offset = 0n;
    return drawn.map(([step, gap]) => {
      offset += BigInt(gap === 3 ? 2 : 1);
      if (step.kind === 'block') {
        seconds += step.seconds;
        if (!step.isRepeated) blockNumber += 1;
      }
      const fact = factOf(step, { seconds, blockNumber, offset: offset - 1n });
      return storedRecord(fact, { partition, offset: offset - 1n }, seconds * 1000);
    });
  });
}

/** The stream, and at its end blocks of long after, so many seconds from the start: each makes much due, the first one's watcher knew of no order. */
export function withLateBlocks(stream: readonly StoredRecord[], seconds: readonly number[]): StoredRecord[] {
  const { partition = 0, offset = -1n } = stream.at(-1) ?? {};
  const blocks = seconds.map((later, index) => {
    const block = { number: 10_000 + later, hash: hashOf(later), timestamp: startSeconds + later };
    const known = index === 0 ? { knownOffset: '0' } : {};
    return storedRecord({ type: 'BlockProcessed', block, ...known }, { partition, offset: offset + BigInt(index + 1) });
  });
  return [...stream, ...blocks];
}

type Step =
  | {
      readonly kind: 'block';
      readonly seconds: number;
      /** By another watcher. */
      readonly isRepeated: boolean;
      /** How far before the block's own offset its watcher's knowledge ends. */
      readonly unknown: number | undefined;
    }
  | {
      readonly kind: 'order';
      readonly maker: Hex;
      readonly type: OrderFactType;
      readonly number: number;
      readonly amount: number;
      readonly more: MoreToCome;
    }
  | {
      readonly kind: 'chain';
      readonly maker: Hex;
      readonly type: ChainFactType;
      readonly token: Hex;
      readonly amount: number;
      readonly late: boolean;
      readonly more: MoreToCome;
    }
  | {
      readonly kind: 'operator';
      readonly maker: Hex;
      readonly type: 'MakerAdmitted' | 'MakerSuspended' | 'MakerRemoved';
    };

type OrderFactType = 'OrderSubmitted' | 'OrderCancelled' | 'OrderCancelledOnChain' | 'OrderFilled';
type ChainFactType = 'BalanceChanged' | 'AllowanceChanged' | 'NonceChanged';

/** What a fact says of those that follow it. */
type MoreToCome = { readonly hasMore?: true };

function stepOf(makers: readonly Hex[], orders: number): fc.Arbitrary<Step> {
  const maker = fc.constantFrom(...makers);
  const more = fc.constantFrom<MoreToCome[]>({ hasMore: true }, {}, {});
  return fc.oneof(
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant('block' as const),
        seconds: fc.integer({ min: -4, max: 8 }),
        isRepeated: fc.integer({ min: 0, max: 3 }).map((drawn) => drawn === 0),
        unknown: fc.oneof(fc.constant(undefined), fc.integer({ min: 0, max: 12 }), fc.integer({ min: 0, max: 300 })),
      }),
    },
    {
      weight: 6,
      arbitrary: fc.record({
        kind: fc.constant('order' as const),
        maker,
        type: fc.constantFrom<OrderFactType[]>(
          'OrderSubmitted',
          'OrderSubmitted',
          'OrderSubmitted',
          'OrderCancelled',
          'OrderCancelledOnChain',
          'OrderFilled',
          'OrderFilled',
        ),
        number: fc.integer({ min: 0, max: orders - 1 }),
        amount: fc.integer({ min: 0, max: 35 }),
        more,
      }),
    },
    {
      weight: 5,
      arbitrary: fc.record({
        kind: fc.constant('chain' as const),
        maker,
        type: fc.constantFrom<ChainFactType[]>('BalanceChanged', 'AllowanceChanged', 'NonceChanged'),
        token: fc.constantFrom(...tokens),
        amount: fc.integer({ min: 0, max: 35 }),
        late: fc.boolean(),
        more,
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constant('operator' as const),
        maker,
        type: fc.constantFrom('MakerAdmitted' as const, 'MakerSuspended' as const, 'MakerRemoved' as const),
      }),
    },
  );
}

interface Now {
  readonly seconds: number;
  readonly blockNumber: number;
  readonly offset: bigint;
}

function factOf(step: Step, { seconds, blockNumber, offset }: Now): MakerEvent {
  const blockAt = (number: number) => ({ number, hash: hashOf(number), timestamp: seconds });
  const block = blockAt(blockNumber);
  const cause = { kind: 'request' as const, requestId: 'request' };
  switch (step.kind) {
    case 'block':
      if (step.unknown === undefined) return { type: 'BlockProcessed', block };
      return { type: 'BlockProcessed', block, knownOffset: String(max(0n, offset - BigInt(step.unknown))) };
    case 'operator':
      return { type: step.type, maker: step.maker, cause: { kind: 'operator', commandId: 'command' } };
    case 'order': {
      const { maker, type, number, amount, more } = step;
      const { orderHash, order, signature } = orderOf(maker, number);
      if (type === 'OrderSubmitted') {
        return { type, maker, orderHash, order, signature, acceptedAtMs: seconds * 1000 + 500, cause };
      }
      if (type === 'OrderCancelled') {
        return { type, maker, orderHash, expiresAtSeconds: Number(order.expiresAt), cause };
      }
      const log = { kind: 'log' as const, transactionHash: hashOf(blockNumber), logIndex: number };
      if (type === 'OrderCancelledOnChain') return { type, maker, orderHash, block, cause: log };
      return {
        type,
        maker,
        orderHash,
        filledMakingAmount: quantity(BigInt(Math.max(0, amount - 15))),
        block,
        cause: log,
        ...more,
      };
    }
    case 'chain': {
      const { maker, type, token, amount, late, more } = step;
      const at = late ? blockAt(blockNumber - 1) : block;
      const read = { kind: 'read' as const, occasion: 'SWEEP' as const };
      if (type === 'NonceChanged') {
        return { type, maker, nonce: quantity(BigInt(amount > 30 ? 1 : 0)), block: at, cause: read, ...more };
      }
      const value = quantity(BigInt(amount));
      if (type === 'BalanceChanged') return { type, maker, token, balance: value, block: at, cause: read, ...more };
      return { type, maker, token, allowance: value, block: at, cause: read, ...more };
    }
  }
}

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
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
