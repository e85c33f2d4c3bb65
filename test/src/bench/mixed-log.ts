import { createHash } from 'node:crypto';
import { type BlockRef, encodeMakerEvent, type MakerEvent, topicNames, topicSpecs } from '@makerbook/contracts-events';
import { type Address, type Hex, quantity } from '@makerbook/contracts-primitives';
import { type Log, type LogRecord, partitionOf } from '@makerbook/kafka';

/**
 * A log like that of a service in use. Of a hundred facts 60 submit an order, 25 cancel one, and 15 come from the
 * chain: 5 read the new orders, 5 are blocks, 2.5 are fills, half of them in full, and 2.5 are readings of funds that
 * are still enough.
 */
export interface MixedLog {
  readonly prefix: string;
  readonly partitions: number;
  readonly makers: number;
}

export interface MixedLogWriter {
  /** Appends this many more facts, spread over the partitions. @returns the end offset of each partition */
  append(facts: number): Promise<readonly bigint[]>;
}

type Submitted = Extract<MakerEvent, { type: 'OrderSubmitted' }>;

interface BenchMaker {
  readonly maker: Address;
  /** Oldest first. */
  readonly open: Submitted[];
  funds: bigint;
}

/** One round of a partition: a POST and its reading, a DELETE of another maker, a block, a fill or new funds. */
const SUBMITTED = 12;
const CANCELLED = 5;
const RECORDS_PER_APPEND = 500;
const START_SECONDS = 1_700_000_000;
/** Year 2100. */
const EXPIRES_AT_SECONDS = 4_102_444_800;
const AMOUNT = 10n ** 20n;
const TOKENS = [addressOf('token 0'), addressOf('token 1')] as const;

/** Creates the topics. The writer writes the same facts each time. */
export async function openMixedLog(log: Log, mixed: MixedLog): Promise<MixedLogWriter> {
  const topics = topicNames(mixed.prefix);
  await log.createTopics(topicSpecs(topics, mixed.partitions).map((spec) => ({ ...spec, replicationFactor: 1 })));
  const appender = log.createAppender({ timeoutMs: 60_000, isCompressed: true });
  const sources = Array.from({ length: mixed.partitions }, (_, partition) => mixedFacts(partition, mixed));
  const recordOf = (partition: number, { fact, block }: DatedFact): LogRecord => {
    const context = { id: 'seeded', source: '/makerbook/bench', timeMs: block.timestamp * 1000 };
    const { key, ...message } = encodeMakerEvent(fact, context);
    return { topic: topics.makerEvents, partition, key: key ?? '', ...message };
  };
  return {
    async append(facts) {
      const ofPartition = async (source: Generator<DatedFact, never>, partition: number) => {
        for (let left = Math.ceil(facts / mixed.partitions); left > 0; left -= RECORDS_PER_APPEND) {
          const batch = take(source, Math.min(left, RECORDS_PER_APPEND));
          await appender.append(batch.map((dated) => recordOf(partition, dated)));
        }
      };
      await Promise.all(sources.map(ofPartition));
      return log.endOffsets(topics.makerEvents);
    },
  };
}

export interface DatedFact {
  readonly fact: MakerEvent;
  /** The newest block before the fact. */
  readonly block: BlockRef;
}

/** Takes the next `count` facts. */
export function take(source: Generator<DatedFact, never>, count: number): DatedFact[] {
  return Array.from({ length: count }, () => source.next().value);
}

/** Yields the facts of one partition, without end. */
export function* mixedFacts(partition: number, { partitions, makers }: MixedLog): Generator<DatedFact, never> {
  const own = Array.from({ length: makers }, (_, n) => addressOf(`maker ${n}`))
    .filter((maker) => partitionOf(maker, partitions) === partition)
    .map((maker): BenchMaker => ({ maker, open: [], funds: 10n ** 30n }));
  let block = blockAt(0);
  for (const { maker } of own) {
    yield { block, fact: { type: 'MakerAdmitted', maker, cause: { kind: 'operator', commandId: 'bench' } } };
  }
  for (let round = 0; ; round += 1) {
    const [poster, canceller, filled] = [round, round + 3, round + 7].map((turn) => own[turn % own.length]);
    if (!poster || !canceller || !filled)
      throw new Error(`partition ${partition} has no maker: more makers are needed`);
    const orders = Array.from({ length: SUBMITTED }, (_, n) => submitted(poster.maker, round * SUBMITTED + n, block));
    poster.open.push(...orders);
    for (const fact of orders) yield { block, fact };
    yield { block, fact: observed(poster, orders, block, 0n) };
    for (const { maker, orderHash } of canceller.open.splice(0, CANCELLED)) {
      const cause = { kind: 'request', requestId: 'bench' } as const;
      yield { block, fact: { type: 'OrderCancelled', maker, orderHash, expiresAtSeconds: EXPIRES_AT_SECONDS, cause } };
    }
    block = blockAt(round + 1);
    // Every second round fills an order, and every second of those fills it in full. The others read funds alone.
    const fills = round % 2 === 0 ? filled.open.slice(0, 1) : [];
    const isWhole = round % 4 === 0;
    if (isWhole) filled.open.shift();
    filled.funds -= 1n;
    yield { block, fact: observed(filled, fills, block, isWhole ? AMOUNT : AMOUNT / 3n) };
    yield { block, fact: { type: 'BlockProcessed', block } };
  }
}

function submitted(maker: Address, n: number, { timestamp }: BlockRef): Submitted {
  const token = TOKENS[n % TOKENS.length] ?? TOKENS[0];
  const order = {
    salt: quantity(BigInt(word(`salt ${n}`))),
    nonce: quantity(0n),
    expiresAt: quantity(BigInt(EXPIRES_AT_SECONDS)),
    making: { token, amount: quantity(AMOUNT) },
    taking: { token: addressOf('taken'), amount: quantity(AMOUNT) },
    maker,
    permittedTaker: `0x${'0'.repeat(40)}` as const,
  };
  return {
    type: 'OrderSubmitted',
    maker,
    orderHash: word(`order ${maker} ${n}`),
    order,
    signature: `${word(`r ${n}`)}${word(`s ${n}`).slice(2)}1b`,
    acceptedAtMs: timestamp * 1000,
    cause: { kind: 'request', requestId: 'bench' },
  };
}

/** A watcher's reading of orders with the funds of their tokens, or of funds alone. */
function observed(
  { maker, funds }: BenchMaker,
  orders: readonly Submitted[],
  block: BlockRef,
  filled: bigint,
): MakerEvent {
  return {
    type: 'MakerObserved',
    maker,
    block,
    cause: { kind: 'read', occasion: 'ORDER' },
    nonce: quantity(0n),
    funds: TOKENS.map((token) => {
      return { token, balance: quantity(funds), allowance: quantity(funds) };
    }),
    orders: orders.map(({ orderHash }) => ({ orderHash, filled: quantity(filled), cancelled: false })),
  };
}

function blockAt(n: number): BlockRef {
  return { number: 1_000 + n, hash: word(`block ${n}`), timestamp: START_SECONDS + n };
}

function addressOf(name: string): Address {
  return `0x${word(name).slice(2, 42)}`;
}

function word(name: string): Hex {
  return `0x${createHash('sha256').update(name).digest('hex')}`;
}
