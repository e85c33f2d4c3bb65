import { pause } from '@makerbook/contracts-primitives';
import { FindCoordinatorKeyTypes, findCoordinatorV3, metadataV9, parseBroker } from '@platformatic/kafka';
import { unavailable } from '../failures.js';
import type { ConnectOptions } from '../log.js';
import { type Address, Broker } from './broker.js';
import { type Deadline, deadlineIn, RETRY_PAUSE_MS, retryUntil, within } from './deadline.js';
import { asResponse, NO_ERROR } from './error-codes.js';

const REFRESH_TIMEOUT_MS = 5_000;
const LOOK_TIMEOUT_MS = 2_000;
/** An answer is late if it takes this much longer than the longest wait. */
const LATE_MS = 200;
export const NO_NODE = -1;

/** The node id of each partition's leader, NO_NODE if it has none. */
type TopicLayout = readonly number[];
type Metadata = metadataV9.MetadataResponse & { readonly answeredBy: Broker };

/**
 * Knows the brokers of the cluster, which one leads each partition, and which one coordinates what. Holds connections
 * for one purpose. A broker answers the requests of a connection one after the other. So calls that must not wait for
 * each other (a read of end offsets, an append, a long poll) each take their own Cluster.
 */
export class Cluster {
  readonly #options: ConnectOptions;
  readonly #seeds: readonly (readonly [number, Broker])[];
  readonly #brokers = new Map<number, Broker>();
  readonly #layouts = new Map<string, TopicLayout>();
  /** Topics whose layout may have changed. */
  readonly #outdated = new Set<string>();
  readonly #asked = new Map<string, Promise<TopicLayout>>();
  readonly #coordinators = new Map<string, number>();
  readonly #lateMs: number;
  #isLooking = false;
  #isClosed = false;

  /** @param waitMsMax how long a broker may wait for news before it answers a fetch */
  constructor(options: ConnectOptions, waitMsMax = 500) {
    this.#options = options;
    this.#lateMs = waitMsMax + LATE_MS;
    this.#seeds = options.brokers.map((address) => [NO_NODE, new Broker(parseBroker(address), options)]);
  }

  /** Asks one broker after the other for the brokers and these topics. A silent broker is asked last next time. */
  async metadata(topics: readonly string[], deadline: Deadline): Promise<Metadata> {
    let lastError: unknown;
    do {
      for (const [id, candidate] of [...this.#brokers, ...this.#seeds]) {
        const attempt = deadline.half();
        try {
          const asked = candidate.call(metadataV9.api, attempt, [...topics], false);
          const answer = await asked.catch(asResponse<metadataV9.MetadataResponse>);
          this.#remember(answer.brokers);
          return { ...answer, answeredBy: candidate };
        } catch (error) {
          // An attempt that was cut off gives no reason.
          lastError = attempt.passed() ? (lastError ?? error) : error;
          if (this.#brokers.get(id) === candidate) {
            this.#brokers.delete(id);
            this.#brokers.set(id, candidate);
          }
        }
      }
      await pause(RETRY_PAUSE_MS);
    } while (!deadline.passed() && !this.#isClosed);
    const reason = lastError instanceof Error ? `: ${lastError.message}` : '';
    throw unavailable(`no broker of ${this.#options.brokers.join(', ')} answered${reason}`, lastError);
  }

  /** Remembers these brokers. Closes the connections of those that have left or moved to another address. */
  #remember(brokers: readonly (Address & { readonly nodeId: number })[]): void {
    // After `close`, nobody would close the connections to newly found brokers.
    if (this.#isClosed) return;
    for (const [id, known] of this.#brokers) {
      const { host, port } = known.address;
      if (brokers.some((one) => one.nodeId === id && one.host === host && one.port === port)) continue;
      known.close();
      this.#brokers.delete(id);
    }
    for (const { nodeId, host, port } of brokers) {
      if (this.#brokers.has(nodeId)) continue;
      const late = { afterMs: this.#lateMs, tell: () => void this.#lookFor(broker) };
      const broker: Broker = new Broker({ host, port }, this.#options, late);
      this.#brokers.set(nodeId, broker);
    }
  }

  /**
   * Asks the other brokers about one that answers late. If it has left the cluster, closes its connection, so that no
   * call waits for its deadline: its partitions have other leaders. Asks on new connections, so that nothing delays the
   * question.
   */
  async #lookFor(late: Broker): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    const others = [...this.#brokers.values()].filter((broker) => broker !== late);
    const asked = others.map(({ address }) => new Broker(address, this.#options));
    const deadline = deadlineIn(LOOK_TIMEOUT_MS);
    const answers = asked.map((broker) => broker.call(metadataV9.api, deadline, [], false));
    const answer = await Promise.any(answers).catch(() => undefined);
    if (answer !== undefined) this.#remember(answer.brokers);
    for (const broker of asked) broker.close();
    this.#isLooking = false;
  }

  /** The layout that was read last. Sends no request. */
  knownLayout(topic: string): TopicLayout | undefined {
    return this.#layouts.get(topic);
  }

  layoutOf(topic: string, deadline: Deadline): Promise<TopicLayout> {
    const known = this.#layouts.get(topic);
    if (known !== undefined && !this.#outdated.has(topic)) return Promise.resolve(known);
    const late = () => unavailable(`no broker gave the leaders of ${topic}`);
    const find = () => {
      // Concurrent callers share the answer.
      const asked = this.#asked.get(topic) ?? this.#readLayout(topic).finally(() => this.#asked.delete(topic));
      this.#asked.set(topic, asked);
      return within(deadline, asked, late);
    };
    return retryUntil(deadline, find, () => !this.#isClosed);
  }

  async #readLayout(topic: string): Promise<TopicLayout> {
    const answer = await this.metadata([topic], deadlineIn(REFRESH_TIMEOUT_MS));
    const found = answer.topics.find(({ name }) => name === topic);
    if (found === undefined || found.errorCode !== NO_ERROR || found.partitions.length === 0) {
      throw unavailable(`topic ${topic} is not known to the cluster`);
    }
    const leaders = new Array<number>(found.partitions.length).fill(NO_NODE);
    for (const { partitionIndex, leaderId } of found.partitions) leaders[partitionIndex] = leaderId;
    this.#layouts.set(topic, leaders);
    this.#outdated.delete(topic);
    return leaders;
  }

  /** Makes the next `layoutOf` ask the cluster. */
  forgetLayout(topic: string): void {
    this.#outdated.add(topic);
  }

  async leaderOf(topic: string, partition: number, deadline: Deadline): Promise<Broker> {
    const leader = (await this.layoutOf(topic, deadline))[partition] ?? NO_NODE;
    if (leader === NO_NODE) {
      this.forgetLayout(topic);
      throw unavailable(`partition ${partition} of ${topic} has no leader`);
    }
    return this.broker(leader);
  }

  broker(id: number): Broker {
    const found = this.#brokers.get(id);
    if (found === undefined) throw unavailable(`broker ${id} is not known`);
    return found;
  }

  /** A broker that has just answered. */
  async anyBroker(deadline: Deadline): Promise<Broker> {
    return (await this.metadata([], deadline)).answeredBy;
  }

  async coordinatorOf(kind: 'GROUP' | 'TRANSACTION', id: string, deadline: Deadline): Promise<Broker> {
    const known = this.#brokers.get(this.#coordinators.get(id) ?? NO_NODE);
    if (known !== undefined) return known;
    const asked = await this.anyBroker(deadline);
    const { api } = findCoordinatorV3;
    const answer = await asked.call(api, deadline.half(), FindCoordinatorKeyTypes[kind], [id]);
    const nodeId = answer.coordinators[0]?.nodeId ?? NO_NODE;
    this.#coordinators.set(id, nodeId);
    return this.broker(nodeId);
  }

  forgetCoordinator(id: string): void {
    this.#coordinators.delete(id);
  }

  close(): void {
    this.#isClosed = true;
    for (const [, broker] of [...this.#brokers, ...this.#seeds]) broker.close();
    this.#brokers.clear();
  }
}
