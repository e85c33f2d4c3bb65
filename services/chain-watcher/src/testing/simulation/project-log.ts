import { bookRemovalHeaders, decodeMakerEvent, type TopicNames } from '@makerbook/contracts-events';
import type { Transition } from '@makerbook/domain';
import type { StoredRecord } from '@makerbook/kafka';
import type { LogInMemory } from '@makerbook/kafka/testing';
import type { Draws, VirtualTime } from '@makerbook/parts';
import type { OpenOrderRow, ProjectedPartition } from '@makerbook/postgres';
import { PartitionFold } from '../fold-log.js';
import { GRACE_SECONDS } from './place-orders.js';

/** How far one projection of a partition has come. */
class Projection {
  readonly fold = new PartitionFold({ routingGraceSeconds: GRACE_SECONDS });
  next = 0n;
  block: ProjectedPartition['block'];
}

/** The projector without its database: publishes tombstones some time after the facts, and has its rows later still. */
export class Projector {
  private readonly log: LogInMemory;
  private readonly topics: TopicNames;
  private readonly feeds: readonly Projection[];
  private readonly rows: readonly Projection[];

  constructor(log: LogInMemory, topics: TopicNames, partitions: number) {
    this.log = log;
    this.topics = topics;
    this.feeds = Array.from({ length: partitions }, () => new Projection());
    this.rows = Array.from({ length: partitions }, () => new Projection());
  }

  /** Projects until the time is over. */
  async run(time: VirtualTime, draws: Draws): Promise<void> {
    for (;;) {
      for (const [partition, feed] of this.feeds.entries()) {
        const transitions = this.advance(partition, feed, this.log.end(this.topics.makerEvents, partition));
        for (const transition of transitions) this.publish(partition, transition);
      }
      await time.wait(5 + draws.at(time.nowMs, 'feed').below(200));
      for (const [partition, rows] of this.rows.entries())
        this.advance(partition, rows, this.feeds[partition]?.next ?? 0n);
      await time.wait(5 + draws.at(time.nowMs, 'rows').below(draws.at(time.nowMs, 'slow').oneIn(5) ? 4000 : 200));
    }
  }

  /** The open orders of the rows, and the position that they reflect. */
  snapshot(onOrders: (orders: readonly OpenOrderRow[]) => void): readonly ProjectedPartition[] {
    return this.rows.map(({ fold, next, block }, partition) => {
      onOrders(
        fold.openOrders().map(({ orderHash, order, isObserved }) => ({
          orderHash,
          maker: order.maker,
          makingToken: order.making.token,
          expiresAtSeconds: Number(order.expiresAt),
          isObserved,
        })),
      );
      return { partition, nextOffset: next, block, newestRead: fold.newestRead(), quarantined: fold.quarantinedFrom() };
    });
  }

  private advance(partition: number, projection: Projection, end: bigint): Transition[] {
    const from = projection.next;
    projection.next = end;
    const isDue = ({ offset }: StoredRecord) => offset >= from && offset < end;
    return this.log
      .records(this.topics.makerEvents, partition)
      .filter(isDue)
      .flatMap((record) => {
        const fact = decodeMakerEvent(record);
        if ('unreadable' in fact) throw new Error(fact.unreadable);
        const transitions = projection.fold.apply(fact, record.offset);
        const { block, seconds } = projection.fold.clock;
        projection.block = block < 0 ? undefined : { number: block, timestamp: seconds };
        return [...transitions];
      });
  }

  private publish(partition: number, transition: Transition): void {
    const isWithheld = transition.kind === 'OrderWithheld';
    if (!isWithheld && !(transition.kind === 'OrderRemoved' && transition.order.inBook)) return;
    const position = { partition, offset: String(transition.offset) };
    const context = { id: 'tombstone', source: '/projector', timeMs: 0 };
    const headers = bookRemovalHeaders(transition.reason, transition.order.order.maker, position, context);
    const key = transition.order.orderHash;
    this.log.store([{ topic: this.topics.book, partition, key, value: null, headers }]);
  }
}
