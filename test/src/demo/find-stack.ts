import { readProcessesFile, readStackFile, type StackFile } from '@makerbook/local-stack';
import { feedSettings, type KafkaConnection, kafkaConnection, kafkaSettings, readSettings } from '@makerbook/settings';

/** The running stack, and the prefix of its topics. */
export interface FoundStack {
  readonly stack: StackFile;
  readonly topicPrefix: string;
}

/**
 * Finds the stack of the data folder that MAKERBOOK_DATA names.
 * @throws Error that says how to start a stack, if there is none
 */
export function findStack(): FoundStack {
  const folder = process.env['MAKERBOOK_DATA'] ?? '.local';
  const stack = readStackFile(folder);
  if (stack === undefined)
    throw new Error(
      `no stack runs here (${folder}/stack.json is missing): start it with \`npm start\` and leave it running, or name its folder by MAKERBOOK_DATA`,
    );
  const settings = readProcessesFile(folder)?.settings;
  return { stack, topicPrefix: process.env['TOPIC_PREFIX'] ?? settings?.['TOPIC_PREFIX'] ?? '' };
}

/** Brokers, the prefix of the topics, and how long before its expiry an order leaves the book. */
export interface FoundKafka {
  readonly connection: KafkaConnection;
  readonly topicPrefix: string;
  readonly routingGraceSeconds: number;
}

/**
 * Finds Kafka by the environment if it has KAFKA_BROKERS, else by the running stack. @throws Error as `findStack` does
 */
export function findKafka(): FoundKafka {
  const { env } = process;
  const { ROUTING_GRACE_SECONDS: routingGraceSeconds } = readSettings(feedSettings, env);
  if (env['KAFKA_BROKERS'] === undefined) {
    const { stack, topicPrefix } = findStack();
    return { connection: { brokers: stack.kafkaBrokers.split(',') }, topicPrefix, routingGraceSeconds };
  }
  const settings = readSettings(kafkaSettings, env);
  return { connection: kafkaConnection(settings), topicPrefix: settings.TOPIC_PREFIX, routingGraceSeconds };
}

/** If the work fails, prints a sentence and has the process end with 1. */
export async function orExit(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
}
