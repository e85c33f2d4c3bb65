import {
  type BookEntry,
  decodeBookEntry,
  decodeMakerEvent,
  type MakerEvent,
  topicNames,
} from '@makerbook/contracts-events';
import { connectLog, partitionOf } from '@makerbook/kafka';

/** One message to the router about an order. */
export interface Told {
  /** `gone`, or status or reason, and what remains. */
  readonly says: string;
  /** Why it was taken from the feed. */
  readonly removal: string | undefined;
  /** What the message says in full; undefined where the order is gone. */
  readonly entry: BookEntry | undefined;
  /** Where the fact stands that led to it. */
  readonly offset: bigint;
}

/** The router's feed, and the log's clock beside it. */
export interface Feed {
  /** Every message about an order, as they came. After a crash some are said again, with the same offsets. */
  told(orderHash: string): readonly Told[];
  /** Where in the log a block was first said to be processed, for this maker; undefined where it was left out. */
  processedAt(maker: string, block: number): bigint | undefined;
  /** The newest block that was processed before this place in the log. */
  processedBefore(maker: string, offset: bigint): number;
  /** The block that the fact at this place in the log was read at; 0 where it is not of the chain. */
  readAt(maker: string, offset: bigint): number;
  /** Where in the log DELETE took the order from the service. */
  deletedAt(orderHash: string): bigint | undefined;
  /**
   * Whether the log says that whoever processed the block did not know the order when it looked for what the block did:
   * then the order waits to be read anew.
   */
  wasMissed(maker: string, orderHash: string, block: number): boolean;
  /** What the log says up to this place of the funds of a pair, by the newest block of which it does; undefined where it says nothing. */
  fundsAt(maker: string, token: string, offset: bigint): Record<Fund, bigint | undefined>;
  /** The last facts about a maker and the blocks between them, a line each, for whoever has to find out why. */
  recent(maker: string): readonly string[];
  /** The newest block that stands in every partition of the log, as far as it was read. @throws Error of a message that no reader understands */
  clock(): number;
  close(): Promise<void>;
}

/** What decides whether an order can be filled. */
export type Fund = 'balance' | 'allowance';

const LINES_MAX = 80;

/** Follows both topics from their beginning, as the router would. */
export function followFeed(kafkaBrokers: string, topicPrefix: string, partitions: number): Feed {
  const quiet = { debug() {}, info() {}, warn() {}, error() {} };
  const log = connectLog({ brokers: kafkaBrokers.split(','), clientId: 'router', logger: quiet });
  const topics = topicNames(topicPrefix);
  let failure: Error | undefined;
  const onFatal = (error: Error) => {
    failure ??= error;
  };
  const told = new Map<string, Told[]>();
  const deletions = new Map<string, bigint>();
  const submissions = new Map<string, bigint>();
  /** By maker, token and kind, in the order of the log. */
  const funds = new Map<string, Observed[]>();
  /** By partition, oldest first: blocks that were newer than all before them. */
  const clocks = Array.from({ length: partitions }, (): Processed[] => []);
  /** By partition. */
  const recent = Array.from(
    { length: partitions },
    (): { readonly maker: string | undefined; readonly line: string }[] => [],
  );
  const readAt = Array.from({ length: partitions }, () => new Map<bigint, number>());
  const clockOf = (maker: string) => clocks[partitionOf(maker, partitions)] ?? [];
  log.followTopic({
    topic: topics.book,
    from: 'beginning',
    onFatal,
    onRecords: (_partition, records) => {
      for (const record of records) {
        const before = told.get(record.key);
        if (before === undefined) told.set(record.key, [read(record)]);
        else before.push(read(record));
      }
    },
  });
  log.followTopic({
    topic: topics.makerEvents,
    from: 'beginning',
    onFatal,
    onRecords: (partition, records) => {
      const clock = clocks[partition] ?? [];
      for (const record of records) {
        const fact = decodeMakerEvent(record);
        if ('unreadable' in fact) throw new Error(fact.unreadable);
        const { offset } = record;
        const lines = recent[partition] ?? [];
        lines.push({ maker: 'maker' in fact ? fact.maker : undefined, line: `${offset} ${lineOf(fact)}` });
        if (lines.length > LINES_MAX) lines.shift();
        if (fact.type === 'OrderCancelled' && !deletions.has(fact.orderHash)) deletions.set(fact.orderHash, offset);
        if (fact.type === 'OrderSubmitted' && !submissions.has(fact.orderHash)) submissions.set(fact.orderHash, offset);
        if (!('block' in fact)) continue;
        const { number: block } = fact.block;
        readAt[partition]?.set(offset, block);
        const fund = fundOf(fact);
        if (fund !== undefined) {
          const observed = { value: fund.value, block, offset };
          const before = funds.get(fund.name);
          if (before === undefined) funds.set(fund.name, [observed]);
          else before.push(observed);
        }
        if (fact.type !== 'BlockProcessed' || block <= (clock.at(-1)?.block ?? -1)) continue;
        clock.push({ block, offset, known: fact.knownOffset === undefined ? undefined : BigInt(fact.knownOffset) });
      }
    },
  });
  return {
    told: (orderHash) => told.get(orderHash) ?? [],
    processedAt: (maker, block) => clockOf(maker).findLast((processed) => processed.block === block)?.offset,
    processedBefore: (maker, offset) => clockOf(maker).findLast((processed) => processed.offset < offset)?.block ?? 0,
    readAt: (maker, offset) => readAt[partitionOf(maker, partitions)]?.get(offset) ?? 0,
    deletedAt: (orderHash) => deletions.get(orderHash),
    wasMissed: (maker, orderHash, block) => {
      const known = clockOf(maker).findLast((processed) => processed.block === block)?.known;
      return known !== undefined && (submissions.get(orderHash) ?? -1n) >= known;
    },
    fundsAt: (maker, token, offset) => {
      const newest = (fund: Fund) =>
        (funds.get(nameOf(maker, token, fund)) ?? [])
          .filter((observed) => observed.offset <= offset)
          .reduce<Observed | undefined>((best, each) => (each.block >= (best?.block ?? 0) ? each : best), undefined);
      return { balance: newest('balance')?.value, allowance: newest('allowance')?.value };
    },
    recent: (wanted) =>
      (recent[partitionOf(wanted, partitions)] ?? [])
        .filter(({ maker }) => maker === undefined || maker === wanted)
        .map(({ line }) => line),
    clock: () => {
      if (failure !== undefined) throw failure;
      return Math.min(...clocks.map((clock) => clock.at(-1)?.block ?? -1));
    },
    close: () => log.close(),
  };
}

interface Processed {
  readonly block: number;
  readonly offset: bigint;
  /** Orders from this place on were not known to whoever processed the block; undefined where all were. */
  readonly known: bigint | undefined;
}

interface Observed {
  readonly value: bigint;
  readonly block: number;
  readonly offset: bigint;
}

function fundOf(fact: MakerEvent): { readonly name: string; readonly value: bigint } | undefined {
  if (fact.type === 'BalanceChanged')
    return { name: nameOf(fact.maker, fact.token, 'balance'), value: BigInt(fact.balance) };
  if (fact.type === 'AllowanceChanged')
    return { name: nameOf(fact.maker, fact.token, 'allowance'), value: BigInt(fact.allowance) };
  return undefined;
}

function nameOf(maker: string, token: string, fund: Fund): string {
  return `${maker} ${token} ${fund}`;
}

function lineOf(fact: MakerEvent): string {
  const { type } = fact;
  const at = 'block' in fact ? ` at ${fact.block.number}` : '';
  switch (type) {
    case 'BlockProcessed':
      return `${type}${at}`;
    case 'OrderFilled':
      return `${type} ${fact.orderHash.slice(0, 10)} ${BigInt(fact.filledMakingAmount)}${at}`;
    case 'BalanceChanged':
      return `${type} ${fact.token.slice(0, 8)} ${BigInt(fact.balance)}${at}`;
    case 'AllowanceChanged':
      return `${type} ${fact.token.slice(0, 8)} ${BigInt(fact.allowance)}${at}`;
    case 'NonceChanged':
      return `${type} ${BigInt(fact.nonce)}${at}`;
    case 'OrderSubmitted':
    case 'OrderCancelled':
    case 'OrderCancelledOnChain':
      return `${type} ${fact.orderHash.slice(0, 10)}${at}`;
    default:
      return type;
  }
}

/** The last message of those that were led to by facts up to this place in the log; undefined before the first. */
export function lastUpTo(told: readonly Told[], offset: bigint): Told | undefined {
  return told.findLast((each) => each.offset <= offset);
}

function read({ value, headers }: { value: Buffer | null; headers: Readonly<Record<string, string>> }): Told {
  if (value === null) {
    const offset = BigInt(headers['position_offset'] ?? '');
    return { says: 'gone', removal: headers['removal'], entry: undefined, offset };
  }
  const entry = decodeBookEntry({ value, headers });
  if ('unreadable' in entry) throw new Error(entry.unreadable);
  const status = entry.status === 'INACTIVE' ? entry.reason : entry.status;
  const says = `${status} ${BigInt(entry.remainingMakingAmount)}`;
  return { says, removal: undefined, entry, offset: BigInt(entry.position.offset) };
}
