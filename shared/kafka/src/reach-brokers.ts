import type { Socket } from 'node:net';
import { LogUnavailable } from './failures.js';
import type { ConnectOptions, Logger } from './log.js';
import {
  type ApiName,
  apiKeys,
  Broker,
  ConnectionPoolOf,
  codes,
  createLogger,
  createSocketFactory,
  type KafkajsLogEntry,
  KafkaRefused,
  LEVELS,
  requests,
  type WireBroker,
  type WireProtocol,
} from './speak-kafka.js';
import { type Deadline, deadlineIn, pause, within } from './wait.js';

/** One broker of the cluster. A call that fails or outlives its deadline closes the connection it went over. */
export interface KafkaNode {
  readonly id: number;
  /** Sends one request and answers with the decoded response; error codes inside are the caller's to judge. */
  call<R>(api: ApiName, parameters: object, deadline: Deadline): Promise<R>;
  /** The same for a request that kafkajs does not know, or whose response is to be read otherwise. */
  send<R>(protocol: (broker: WireBroker) => WireProtocol, deadline: Deadline): Promise<R>;
}

interface OpenNode extends KafkaNode {
  drop(): void;
  close(): void;
}

/** Where the partitions of a topic live: the leader's node id by partition. */
export type TopicLayout = readonly number[];

export interface Metadata {
  readonly controllerId: number;
  readonly brokers: readonly { readonly nodeId: number; readonly host: string; readonly port: number }[];
  readonly topicMetadata: readonly {
    readonly topicErrorCode: number;
    readonly topic: string;
    readonly partitionMetadata: readonly {
      readonly partitionErrorCode: number;
      readonly partitionId: number;
      readonly leader: number;
    }[];
  }[];
}

/**
 * Connections for one purpose. A broker answers the requests of one connection one after the other, so what must not
 * wait for each other (a read of end offsets, an append, a long poll) goes over connections of its own.
 */
export interface Connections {
  layoutOf(topic: string, deadline: Deadline): Promise<TopicLayout>;
  /** The next `layoutOf` asks the cluster. */
  forgetLayout(topic: string): void;
  leaderOf(topic: string, partition: number, deadline: Deadline): Promise<KafkaNode>;
  node(id: number): KafkaNode;
  anyNode(deadline: Deadline): Promise<KafkaNode>;
  controller(deadline: Deadline): Promise<KafkaNode>;
  coordinatorOf(kind: 'group' | 'transaction', id: string, deadline: Deadline): Promise<KafkaNode>;
  forgetCoordinator(id: string): void;
  metadata(topics: readonly string[], deadline: Deadline): Promise<Metadata>;
  /** Gives up what is under way on every connection; the next request opens a new one. */
  interrupt(): void;
  close(): void;
}

const REFRESH_TIMEOUT_MS = 5_000;
const RETRY_PAUSE_MS = 50;

export function reachBrokers(options: ConnectOptions): Connections {
  const nodes = new Map<number, OpenNode>();
  const seeds = options.brokers.map((address) => openNode(-1, parseAddress(address), options));
  const layouts = new Map<string, { readonly leaders: TopicLayout; readonly askedAtMs: number }>();
  const coordinators = new Map<string, number>();
  const refreshing = new Map<string, Promise<TopicLayout | undefined>>();
  const layoutAgeMsMax = options.metadataAgeMsMax ?? 300_000;
  let addresses = new Map<number, string>();
  let controllerId: number | undefined;
  let closed = false;

  async function metadata(topics: readonly string[], deadline: Deadline): Promise<Metadata> {
    let lastError: unknown;
    do {
      for (const candidate of [...nodes.values(), ...seeds]) {
        try {
          const attempt = deadline.half(500);
          const answer = await candidate.call<Metadata>('Metadata', { topics, allowAutoTopicCreation: false }, attempt);
          remember(answer);
          return answer;
        } catch (error) {
          lastError = error;
        }
      }
      await pause(RETRY_PAUSE_MS);
    } while (!deadline.passed() && !closed);
    throw unavailable(`no broker of ${options.brokers.join(', ')} answered`, lastError);
  }

  function remember(answer: Metadata): void {
    controllerId = answer.controllerId;
    const now = new Map<number, string>();
    for (const { nodeId, host, port } of answer.brokers) {
      now.set(nodeId, `${host}:${port}`);
      if (addresses.get(nodeId) !== `${host}:${port}`) {
        nodes.get(nodeId)?.close();
        nodes.set(nodeId, openNode(nodeId, { host, port }, options));
      }
    }
    for (const [id, gone] of nodes) {
      if (!now.has(id)) {
        gone.close();
        nodes.delete(id);
      }
    }
    addresses = now;
  }

  async function refresh(topic: string): Promise<TopicLayout | undefined> {
    const answer = await metadata([topic], deadlineIn(REFRESH_TIMEOUT_MS));
    const found = answer.topicMetadata.find((entry) => entry.topic === topic);
    if (found === undefined || found.topicErrorCode !== codes.none || found.partitionMetadata.length === 0) {
      return undefined;
    }
    const leaders = new Array<number>(found.partitionMetadata.length).fill(-1);
    for (const { partitionId, leader } of found.partitionMetadata) {
      leaders[partitionId] = leader;
    }
    layouts.set(topic, { leaders, askedAtMs: performance.now() });
    return leaders;
  }

  async function layoutOf(topic: string, deadline: Deadline): Promise<TopicLayout> {
    for (;;) {
      const known = layouts.get(topic);
      if (known !== undefined && performance.now() - known.askedAtMs < layoutAgeMsMax) {
        return known.leaders;
      }
      let asking = refreshing.get(topic);
      if (asking === undefined) {
        asking = refresh(topic).finally(() => refreshing.delete(topic));
        asking.catch(() => undefined);
        refreshing.set(topic, asking);
      }
      const leaders = await within(deadline, asking, () => unavailable(`the layout of ${topic} could not be read`));
      if (leaders !== undefined) {
        return leaders;
      }
      if (deadline.leftMs() < RETRY_PAUSE_MS) {
        throw unavailable(`topic ${topic} is not known to the cluster`);
      }
      await pause(RETRY_PAUSE_MS);
    }
  }

  function node(id: number): KafkaNode {
    const found = nodes.get(id);
    if (found === undefined) {
      throw unavailable(`broker ${id} is not known`);
    }
    return found;
  }

  async function coordinatorOf(kind: 'group' | 'transaction', id: string, deadline: Deadline): Promise<KafkaNode> {
    const known = coordinators.get(id);
    if (known !== undefined && nodes.has(known)) {
      return node(known);
    }
    for (;;) {
      const asked = await anyNode(deadline);
      const answer = await asked.call<{ errorCode: number; coordinator: { nodeId: number } }>(
        'GroupCoordinator',
        { groupId: id, coordinatorType: kind === 'group' ? 0 : 1 },
        deadline,
      );
      if (answer.errorCode === codes.none) {
        if (!nodes.has(answer.coordinator.nodeId)) {
          await metadata([], deadline);
        }
        coordinators.set(id, answer.coordinator.nodeId);
        return node(answer.coordinator.nodeId);
      }
      if (answer.errorCode !== codes.coordinatorNotAvailable && answer.errorCode !== codes.coordinatorLoading) {
        throw new KafkaRefused(`finding the coordinator of ${id}`, answer.errorCode);
      }
      if (deadline.leftMs() < RETRY_PAUSE_MS) {
        throw unavailable(`the coordinator of ${id} is not available`);
      }
      await pause(RETRY_PAUSE_MS);
    }
  }

  async function anyNode(deadline: Deadline): Promise<KafkaNode> {
    if (nodes.size === 0) {
      await metadata([], deadline);
    }
    const all = [...nodes.values()];
    const chosen = all[Math.floor(Math.random() * all.length)];
    if (chosen === undefined) {
      throw unavailable('the cluster names no broker');
    }
    return chosen;
  }

  return {
    layoutOf,
    forgetLayout: (topic) => layouts.delete(topic),
    leaderOf: async (topic, partition, deadline) => {
      const leader = (await layoutOf(topic, deadline))[partition];
      if (leader === undefined || leader < 0) {
        layouts.delete(topic);
        throw unavailable(`partition ${partition} of ${topic} has no leader`);
      }
      return node(leader);
    },
    node,
    anyNode,
    controller: async (deadline) => {
      if (controllerId === undefined) {
        await metadata([], deadline);
      }
      return controllerId === undefined || controllerId < 0 ? anyNode(deadline) : node(controllerId);
    },
    coordinatorOf,
    forgetCoordinator: (id) => coordinators.delete(id),
    metadata,
    interrupt: () => {
      for (const open of [...nodes.values(), ...seeds]) {
        open.drop();
      }
    },
    close: () => {
      closed = true;
      for (const open of [...nodes.values(), ...seeds]) {
        open.close();
      }
      nodes.clear();
      addresses.clear();
    },
  };
}

function openNode(id: number, address: { host: string; port: number }, options: ConnectOptions): OpenNode {
  const where = `${address.host}:${address.port}`;
  const openSocket = createSocketFactory();
  let sockets = new Set<Socket>();
  let broker: WireBroker | undefined;
  let closed = false;

  function drop(): void {
    broker = undefined;
    const dropped = sockets;
    sockets = new Set();
    for (const socket of dropped) {
      socket.destroy(new Error('the connection was given up'));
    }
  }

  function open(): WireBroker {
    const mine = sockets;
    const connectionPool = new ConnectionPoolOf({
      ...address,
      clientId: options.clientId,
      ssl: options.tls === true ? {} : options.tls || undefined,
      sasl: options.sasl,
      socketFactory: (request: Parameters<typeof openSocket>[0]) => {
        const socket = openSocket(request);
        socket.setNoDelay(true);
        mine.add(socket);
        socket.once('close', () => mine.delete(socket));
        return socket;
      },
      connectionTimeout: options.connectTimeoutMs ?? 3_000,
      reauthenticationThreshold: 10_000,
      requestTimeout: 60_000,
      // Every call has a deadline of its own; kafkajs would keep a 100 ms timer per connection for this.
      enforceRequestTimeout: false,
      maxInFlightRequests: null,
      logger: adaptLogger(options.logger),
    });
    for (const { requestQueue } of connectionPool.pool) {
      // Left alone, kafkajs re-arms a timer each millisecond for as long as a connection is idle, with a negative
      // delay that Node warns of. There is only something to check while requests wait.
      const schedule = requestQueue.scheduleCheckPendingRequests.bind(requestQueue);
      requestQueue.scheduleCheckPendingRequests = () => {
        if (requestQueue.pending.length > 0) {
          schedule();
        }
      };
    }
    return new Broker({
      connectionPool,
      nodeId: id,
      logger: adaptLogger(options.logger),
      allowAutoTopicCreation: false,
    });
  }

  async function send<R>(protocolOf: (broker: WireBroker) => WireProtocol, deadline: Deadline): Promise<R> {
    if (closed) {
      throw unavailable(`the connection to ${where} is closed`);
    }
    broker ??= open();
    const used = broker;
    let sent = false;
    const answer = (async () => {
      await used.connect();
      const protocol = protocolOf(used);
      sent = true;
      return used.connectionPool.send({
        request: protocol.request,
        response: { decode: (bytes) => protocol.response.decode(bytes), parse: async (data) => data },
        logResponseError: false,
      });
    })();
    try {
      return (await within(deadline, answer, () => unavailable(`${where} did not answer in time`))) as R;
    } catch (error) {
      // Whatever was on this connection is given up with it: nothing is sent later that was answered as failed.
      if (broker === used) {
        drop();
      }
      throw new LogUnavailable(`${where}: ${(error as Error).message}`, { mayHaveBeenAppended: sent, cause: error });
    }
  }

  return {
    id,
    send,
    drop,
    call: (api, parameters, deadline) =>
      send((connected) => connected.lookupRequest(apiKeys[api], requests[api])(parameters), deadline),
    close: () => {
      closed = true;
      drop();
    },
  };
}

function parseAddress(address: string): { host: string; port: number } {
  const at = address.lastIndexOf(':');
  const port = Number(address.slice(at + 1));
  if (at < 1 || !Number.isInteger(port) || port < 1 || port > 65_535) {
    throw new TypeError(`"${address}" is not a broker's address; give host:port`);
  }
  return { host: address.slice(0, at), port };
}

/** kafkajs reports as errors what is retried here and told in our own words, so its voice is lowered to debug. */
function adaptLogger(logger: Logger): unknown {
  return createLogger({
    level: LEVELS.WARN,
    logCreator: () => (entry: KafkajsLogEntry) => {
      const { message, ...fields } = entry.log;
      logger.debug({ ...fields, kafkajs: entry.namespace }, message);
    },
  });
}

export function unavailable(message: string, cause?: unknown): LogUnavailable {
  return new LogUnavailable(message, { mayHaveBeenAppended: false, cause });
}
