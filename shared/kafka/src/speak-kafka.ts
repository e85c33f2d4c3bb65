import { createRequire } from 'node:module';
import type { Socket } from 'node:net';

/**
 * The one door to kafkajs. What is taken from it is its connection (TLS, SASL, framing) and its wire protocol; its
 * producer and consumer are not used. They retry behind the caller's back, lose the positions of control records and of
 * empty batches, and let one waiting partition hold up all others; what stands above the protocol is therefore here.
 * kafkajs is pinned to the version whose inner modules these are.
 */
const require = createRequire(import.meta.url);

export interface WireRequest {
  readonly apiKey: number;
  readonly apiVersion: number;
  readonly apiName: string;
  readonly encode: () => Promise<WireEncoder>;
}

export interface WireEncoder {
  writeBuffer(bytes: Buffer): WireEncoder;
}

export interface WireProtocol {
  readonly request: WireRequest;
  readonly response: { decode(bytes: Buffer): Promise<unknown>; parse(data: unknown): Promise<unknown> };
  readonly logResponseError?: boolean;
}

export interface RequestDefinition {
  protocol(options: { version: number }): (parameters: object) => WireProtocol;
}

interface RequestQueue {
  readonly pending: readonly unknown[];
  scheduleCheckPendingRequests(): void;
}

export interface ConnectionPool {
  readonly pool: readonly { requestQueue: RequestQueue }[];
  send(protocol: WireProtocol): Promise<unknown>;
}

export interface WireBroker {
  readonly connectionPool: ConnectionPool;
  connect(): Promise<void>;
  lookupRequest(apiKey: number, definition: RequestDefinition): (parameters: object) => WireProtocol;
}

export interface KafkajsLogEntry {
  readonly namespace: string;
  readonly log: { readonly message: string; readonly [field: string]: unknown };
}

type SocketFactory = (options: { host: string; port: number; ssl: unknown; onConnect: () => void }) => Socket;

export const Broker = require('kafkajs/src/broker') as new (options: object) => WireBroker;
export const ConnectionPoolOf = require('kafkajs/src/network/connectionPool') as new (
  options: object,
) => ConnectionPool;
export const createSocketFactory = require('kafkajs/src/network/socketFactory') as () => SocketFactory;
export const { createLogger, LEVELS } = require('kafkajs/src/loggers') as {
  createLogger(options: { level: number; logCreator: () => (entry: KafkajsLogEntry) => void }): unknown;
  LEVELS: { readonly WARN: number };
};
export const Encoder = require('kafkajs/src/protocol/encoder') as new () => WireEncoder;
export const { requests } = require('kafkajs/src/protocol/requests') as {
  requests: Readonly<Record<ApiName, RequestDefinition>>;
};
export const apiKeys = require('kafkajs/src/protocol/requests/apiKeys') as Readonly<Record<ApiName, number>>;

const { AssignerProtocol } = require('kafkajs') as {
  AssignerProtocol: {
    MemberMetadata: { encode(value: { version: number; topics: string[]; userData: Buffer }): Buffer };
    MemberAssignment: {
      encode(value: { version: number; assignment: Record<string, number[]>; userData: Buffer }): Buffer;
      decode(bytes: Buffer): { assignment: Record<string, number[]> } | null;
    };
  };
};
export const { MemberMetadata, MemberAssignment } = AssignerProtocol;

const { errorCodes } = require('kafkajs/src/protocol/error') as {
  errorCodes: readonly { type: string; code: number; message: string }[];
};

export type ApiName =
  | 'AddPartitionsToTxn'
  | 'CreateTopics'
  | 'DescribeConfigs'
  | 'EndTxn'
  | 'Fetch'
  | 'GroupCoordinator'
  | 'Heartbeat'
  | 'InitProducerId'
  | 'JoinGroup'
  | 'LeaveGroup'
  | 'ListOffsets'
  | 'Metadata'
  | 'OffsetCommit'
  | 'Produce'
  | 'SyncGroup';

/** The error codes of the Kafka protocol that this package decides on. */
export const codes = {
  unknownServerError: -1,
  none: 0,
  offsetOutOfRange: 1,
  unknownTopicOrPartition: 3,
  leaderNotAvailable: 5,
  notLeader: 6,
  requestTimedOut: 7,
  messageTooLarge: 10,
  coordinatorLoading: 14,
  coordinatorNotAvailable: 15,
  notCoordinator: 16,
  recordListTooLarge: 18,
  notEnoughReplicas: 19,
  notEnoughReplicasAfterAppend: 20,
  illegalGeneration: 22,
  unknownMemberId: 25,
  rebalanceInProgress: 27,
  topicAlreadyExists: 36,
  outOfOrderSequence: 45,
  invalidProducerEpoch: 47,
  concurrentTransactions: 51,
  storageError: 56,
  unknownProducerId: 59,
  memberIdRequired: 79,
  producerFenced: 90,
} as const;

/** The protocol's name of an error code, for messages. */
export function nameOfCode(code: number): string {
  if (code === codes.producerFenced) {
    return 'PRODUCER_FENCED';
  }
  return errorCodes.find((known) => known.code === code)?.type ?? `error code ${code}`;
}

/** A broker answered with an error code. */
export class KafkaRefused extends Error {
  override readonly name = 'KafkaRefused';
  readonly code: number;

  constructor(what: string, code: number) {
    super(`${what}: ${nameOfCode(code)}`);
    this.code = code;
  }
}
