import { setTimeout as pause } from 'node:timers/promises';
import { awaitInSync } from '@makerbook/kafka/testing';
import { startKafka } from '@makerbook/parts';
import { putOrdersOn } from '../kit/put-orders-on.js';
import { BROKERS, type DrillOptions, type DrillParts, ROUNDS_PER_SECOND } from './open-parts.js';
import { BROKER_AWAY_MS_MAX, tellSilence, topicsOf } from './tell-silence.js';

const GONE_MS = 10_000;
const LOST = 1;

/** Loses one broker of three with its disk. An empty one then copies everything from the others. */
export async function loseBroker(parts: DrillParts, { loadMs }: DrillOptions): Promise<string[]> {
  const { plans, nodes, addresses } = await parts.start.brokers();
  const postgres = await parts.start.postgres('postgres');
  const stack = await parts.openStack(addresses.join(), postgres.url, { TOPIC_REPLICATION_FACTOR: String(BROKERS) });
  await awaitInSync(addresses, BROKERS, topicsOf(stack));
  const load = await putOrdersOn(stack, ROUNDS_PER_SECOND);
  parts.closing.push(load.close);
  await pause(loadMs);
  const [plan, node] = [plans[LOST], nodes[LOST]];
  if (plan === undefined || node === undefined) throw new Error(`there is no broker ${LOST}`);
  node.kill('SIGKILL');
  await node.exited;
  parts.lose(`kafka-${LOST + 1}`);
  console.log(`lost: broker ${LOST + 1} of ${BROKERS}, with its disk`);
  await pause(GONE_MS);
  const startedAtMs = performance.now();
  nodes[LOST] = await startKafka(plan);
  await awaitInSync(addresses, BROKERS, topicsOf(stack));
  const seconds = (performance.now() - startedAtMs) / 1000;
  console.log(`an empty broker ${LOST + 1} was started, and had copied everything after ${seconds.toFixed(1)} s`);
  await pause(loadMs);
  const late = tellSilence(load, { requests: BROKER_AWAY_MS_MAX, feed: BROKER_AWAY_MS_MAX });
  return [...(await load.judge()), ...late];
}
