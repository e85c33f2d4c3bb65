import { initProducerIdV4 } from '@platformatic/kafka';
import type { Cluster } from '../cluster/cluster.js';
import { type Deadline, retryUntil } from '../cluster/deadline.js';
import { assertAccepted } from '../cluster/error-codes.js';
import { unavailable } from '../failures.js';
import type { ProducerId } from './produce-request.js';

const RETRY_PAUSE_MS = 50;
const ATTEMPT_MS_MIN = 500;
const TRANSACTION_TIMEOUT_MS = 60_000;

/** A producer id and the next sequence of each partition (by place) under it. */
export interface Producer extends ProducerId {
  readonly nextSequence: Map<string, number>;
}

/** The producer id of one appender: taken when first needed, and taken anew after it was given up. */
export class IdempotentProducer {
  readonly #cluster: Cluster;
  #current: Promise<Producer> | undefined;

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  async current(deadline: Deadline): Promise<Producer> {
    this.#current ??= this.#open(deadline);
    const opening = this.#current;
    try {
      return await opening;
    } catch (error) {
      if (this.#current === opening) {
        this.#current = undefined;
      }
      throw error;
    }
  }

  /** After an unknown outcome the next sequence under this id is not known any more. */
  giveUp(lost: ProducerId): void {
    const current = this.#current;
    current?.then(
      (held) => {
        if (held === lost && this.#current === current) {
          this.#current = undefined;
        }
      },
      () => undefined,
    );
  }

  async #open(deadline: Deadline): Promise<Producer> {
    const take = async () => {
      const broker = await this.#cluster.anyBroker(deadline);
      const attempt = deadline.half(ATTEMPT_MS_MIN);
      const answer = await broker.call(initProducerIdV4.api, attempt, null, TRANSACTION_TIMEOUT_MS);
      assertAccepted('opening a producer', answer.errorCode);
      return { id: answer.producerId, epoch: answer.producerEpoch, nextSequence: new Map<string, number>() };
    };
    return retryUntil(deadline, RETRY_PAUSE_MS, take).catch((error: unknown) => {
      throw unavailable('Kafka gave no producer id', error);
    });
  }
}
