import { join } from 'node:path';
import { TopicWriter } from '@makerbook/chain-watcher/testing';
import { connectLog } from '@makerbook/kafka';
import { type Supervised, type Supervision, supervise } from '@makerbook/local-stack';
import { createChance, findFreePort, startAnvil, startKafka } from '@makerbook/parts';
import { silentLogger } from '@makerbook/telemetry';
import type { Question } from './keep-blocks.js';

/** The Kafka to which the node of Kaia writes. */
export const KAIA_KAFKA = 'Kaia-Kafka';
const TOPIC = 'chaos.klaytn.chaindatafetcher.en-0.blockgroup.v1';
const TOPIC_PARTITIONS = 3;
/** So small that blocks of several transactions have several segments. */
const SEGMENT_BYTES = 20_000;
const USUAL_FAULTS = { lateMs: 20, gapOneIn: 40, repeatOneIn: 10, swapOneIn: 20 };

const CHAIN_ANSWER_MS_MAX = 5_000;

interface Folders {
  readonly data: string;
  readonly logs: string;
}
type Keep = (part: Supervised) => void;

/** Starts the watchers' sources of blocks. @param topicSeed draws gaps and repeats; no topic if undefined */
export async function startSources(
  folders: Folders,
  supervision: Supervision,
  keep: Keep,
  topicSeed: number | undefined,
) {
  const chain = await startChain(folders, supervision, keep);
  const topic =
    topicSeed === undefined ? undefined : await startTopic(folders, supervision, keep, chain.rpcUrl, topicSeed);
  const { url, wsUrl } = chain.harmed();
  const settings = {
    RPC_URL: url,
    RPC_WS_URL: wsUrl,
    ...(topic !== undefined && { KAIA_TOPIC: TOPIC, KAIA_KAFKA_BROKERS: topic.brokers }),
  };
  return { ...chain, topic, settings };
}

/** Starts a chain that makes no block by itself, and a node for the watchers alone. Its faults harm nobody else. */
async function startChain({ data, logs }: Folders, supervision: Supervision, keep: Keep) {
  const port = await findFreePort();
  const harmedPort = await findFreePort();
  const options = { dataDir: join(data, 'anvil'), port, logFile: join(logs, 'anvil.log'), extraArgs: ['--no-mining'] };
  const start = async () => {
    const anvil = await startAnvil(options);
    return { ...anvil, harmed: await anvil.node.beside(harmedPort) };
  };
  const part = await supervise('anvil', start, supervision);
  keep(part);
  return { rpcUrl: part.current().rpcUrl, harmed: () => part.current().harmed };
}

/** Starts a separate Kafka, where the node of Kaia writes late, with gaps, repeats and blocks out of order. */
async function startTopic({ data, logs }: Folders, supervision: Supervision, keep: Keep, rpcUrl: string, seed: number) {
  const port = await findFreePort();
  const options = { dataDir: join(data, 'kaia-kafka'), port, logFile: join(logs, `${KAIA_KAFKA}.log`) };
  const part = await supervise(KAIA_KAFKA, () => startKafka(options), supervision);
  keep(part);
  const { brokers } = part.current();
  const log = connectLog({ brokers: [brokers], clientId: 'kaia-node', logger: silentLogger });
  await log.createTopics([{ name: TOPIC, partitions: TOPIC_PARTITIONS, replicationFactor: 1, config: {} }]);
  const chain = {
    send: async (method: string, params: unknown[]) => (await askAll(rpcUrl, [{ method, params }]))[0],
  };
  const rest = { partitions: TOPIC_PARTITIONS, segmentBytes: SEGMENT_BYTES };
  const writer = new TopicWriter({ log, topic: TOPIC, chain, chance: createChance(seed), ...rest });
  writer.tell(USUAL_FAULTS);
  const close = async () => {
    await writer.close();
    await log.close();
  };
  return { brokers, writer, close };
}

/** Asks a node some questions at once. @throws Error if it does not answer each of them */
export async function askAll(rpcUrl: string, questions: readonly Question[]): Promise<unknown[]> {
  const response = await fetch(rpcUrl, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(questions.map((question, id) => ({ jsonrpc: '2.0', id, ...question }))),
    signal: AbortSignal.timeout(CHAIN_ANSWER_MS_MAX),
  });
  const answers = (await response.json()) as Answer[];
  const byId = new Map(answers.map((answer) => [answer.id, answer]));
  return questions.map(({ method }, id) => {
    const { result, error } = byId.get(id) ?? {};
    if (result === undefined) throw new Error(`${method}: ${error?.message ?? 'no answer'}`);
    return result;
  });
}

interface Answer {
  readonly id: number;
  readonly result?: unknown;
  readonly error?: { readonly message: string };
}
