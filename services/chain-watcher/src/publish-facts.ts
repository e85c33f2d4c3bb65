import { type BlockRef, encodeMakerEvent, type MakerEvent, type MakerFact } from '@makerbook/contracts-events';
import { type Appender, type LogRecord, partitionOf } from '@makerbook/kafka';
import { groupFacts } from './group-facts.js';

/** Appends what the chain says to the log. Every method throws LogUnavailable; a repeat is harmless. */
export interface FactPublisher {
  /** Facts of one block, alone. `traceparentOf` continues the trace of a request. */
  publish(facts: readonly MakerFact[], traceparentOf?: (fact: MakerFact) => string | undefined): Promise<void>;
  /**
   * The facts of a block and then its `BlockProcessed`, to each partition in one record batch: a partition holds all of
   * it or nothing (what is beyond a batch's bound goes before, in batches of its own, each of whole makers).
   * @param knownOffset of each partition: the orders before it were known when the block was matched
   * @param isPublished partitions that hold the block already, from another watcher, are given no second one
   * @param isNews of the facts for such a partition those that the log does not say yet: the other watcher may not have
   * known the order when it matched the block
   */
  publishBlock(
    facts: readonly MakerFact[],
    block: BlockRef,
    knownOffset: (partition: number) => bigint,
    isPublished: (partition: number) => boolean,
    isNews: (fact: MakerFact) => boolean,
  ): Promise<void>;
}

export interface PublisherOptions {
  readonly appender: Appender;
  readonly topic: string;
  readonly partitions: number;
  /** Facts in one record batch. Default 500. */
  readonly batchFactsMax?: number | undefined;
}

const SOURCE = '/makerbook/chain-watcher';

export function createFactPublisher({
  appender,
  topic,
  partitions,
  batchFactsMax = 500,
}: PublisherOptions): FactPublisher {
  const recordOf = (partition: number, event: MakerEvent, id: string, timestamp: number, traceparent?: string) => {
    const context = {
      id,
      source: SOURCE,
      timeMs: timestamp * 1000,
      ...(traceparent === undefined ? {} : { traceparent }),
    };
    const { key, value, headers } = encodeMakerEvent(event, context);
    return { topic, partition, key: key ?? '', value, headers } satisfies LogRecord;
  };

  const byPartition = (
    facts: readonly MakerFact[],
    traceparentOf?: (fact: MakerFact) => string | undefined,
  ): Map<number, LogRecord[][]> => {
    const groups = new Map<number, LogRecord[][]>();
    for (const [partition, own] of Map.groupBy(facts, ({ maker }) => partitionOf(maker, partitions))) {
      const toRecord = (fact: MakerFact) =>
        recordOf(partition, fact, idOf(fact), timestampOf(fact), traceparentOf?.(fact));
      groups.set(
        partition,
        groupFacts(own).map((group) => group.map(toRecord)),
      );
    }
    return groups;
  };

  const appendInOrder = async (groups: readonly (readonly LogRecord[])[]) => {
    let batch: LogRecord[] = [];
    for (const group of groups) {
      if (batch.length > 0 && batch.length + group.length > batchFactsMax) {
        await appender.append(batch);
        batch = [];
      }
      // A maker of whom there is more than a batch may hold: nothing is judged before the last fact.
      for (const record of group) {
        if (batch.length === batchFactsMax) {
          await appender.append(batch);
          batch = [];
        }
        batch.push(record);
      }
    }
    if (batch.length > 0) await appender.append(batch);
  };

  return {
    publish: async (facts, traceparentOf) => {
      await allDone([...byPartition(facts, traceparentOf).values()].map(appendInOrder));
    },
    publishBlock: async (facts, block, knownOffset, isPublished, isNews) => {
      const isToBeSaid = (fact: MakerFact) => !isPublished(partitionOf(fact.maker, partitions)) || isNews(fact);
      const groups = byPartition(facts.filter(isToBeSaid));
      const appends: Promise<void>[] = [];
      for (let partition = 0; partition < partitions; partition += 1) {
        if (isPublished(partition)) {
          appends.push(appendInOrder(groups.get(partition) ?? []));
          continue;
        }
        const processed = { type: 'BlockProcessed' as const, block, knownOffset: String(knownOffset(partition)) };
        const id = `${block.number}:BlockProcessed:${partition}:${processed.knownOffset}`;
        const last = recordOf(partition, processed, id, block.timestamp);
        appends.push(appendInOrder([...(groups.get(partition) ?? []), [last]]));
      }
      await allDone(appends);
    },
  };
}

/** Waits for all of them also where one fails: what comes later must not overtake what is still under way. */
async function allDone(appends: readonly Promise<void>[]): Promise<void> {
  const failed = (await Promise.allSettled(appends)).find((outcome) => outcome.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}

/**
 * Fact and cause have the same id, whoever publishes them and how often. The cause belongs to it: of two watchers one may
 * have read for a log what the other one read for a new order, or more of the maker. The values are the same, the messages
 * are not.
 */
function idOf(fact: MakerFact): string {
  const about = 'token' in fact ? `:${fact.token}` : 'orderHash' in fact ? `:${fact.orderHash}` : '';
  const number = 'block' in fact ? fact.block.number : 0;
  const more = 'hasMore' in fact ? ':more' : '';
  return `${number}:${fact.type}:${fact.maker}${about}:${causeOf(fact)}${more}`;
}

function causeOf({ cause }: MakerFact): string {
  switch (cause.kind) {
    case 'log':
      return `${cause.transactionHash}:${cause.logIndex}`;
    case 'read':
      return cause.occasion;
    case 'request':
      return cause.requestId;
    case 'operator':
      return cause.commandId;
    default:
      return never(cause);
  }
}

function never(cause: never): never {
  throw new Error(`a cause that the publisher does not know: ${JSON.stringify(cause)}`);
}

function timestampOf(fact: MakerFact): number {
  return 'block' in fact ? fact.block.timestamp : 0;
}
