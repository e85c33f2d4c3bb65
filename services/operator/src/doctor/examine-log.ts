import { topicNames, topicSpecs } from '@makerbook/contracts-events';
import { type BrokerState, type Log, type PartitionState, readCluster, TopicMismatch } from '@makerbook/kafka';
import { kafkaConnection } from '@makerbook/settings';
import { silentLogger } from '@makerbook/telemetry';
import type { DoctorSettings } from '../env.js';
import { countParked } from '../handle-parked.js';
import { alert, CLOCKS_APART_MS_MAX, type Finding, judge, look, lookAll, mismatchOf } from './finding.js';

/** The limit of the alert VolumeFillsUp. */
const FREE_PERCENT_MIN = 20n;

/**
 * Checks topics, replicas, disks and clock of Kafka, and what is parked.
 * @param readEnds reads where each partition of the log ends
 */
export async function examineLog(
  log: Log,
  settings: DoctorSettings,
  nowMs: () => number,
  readEnds: () => Promise<readonly bigint[]>,
): Promise<readonly Finding[]> {
  const names = topicNames(settings.TOPIC_PREFIX);
  const specs = topicSpecs(names, settings.PARTITIONS);
  const topics = async (): Promise<Finding[]> => {
    const wrong = await mismatchOf(log.verifyTopics(specs), TopicMismatch);
    const what = `topics: ${wrong ?? `${specs.length}, as this build expects them`}`;
    return [judge(wrong === undefined, what, 'services/operator/README.md')];
  };
  const clock = async (): Promise<Finding[]> => {
    const partition = (await readEnds()).findIndex((end) => end > 0n);
    if (partition < 0) return [{ verdict: 'unread', what: 'clock of the brokers: the log is empty' }];
    const newest = (await log.readLastRecords(names.makerEvents, partition)).at(-1);
    const aheadMs = (newest?.timestampMs ?? 0) - nowMs();
    const said = aheadMs > CLOCKS_APART_MS_MAX ? `${aheadMs} ms ahead of this machine` : 'not ahead of this machine';
    return [
      judge(aheadMs <= CLOCKS_APART_MS_MAX, `clock of the brokers: ${said}`, 'deploy/runbooks/before-production.md'),
    ];
  };
  const parked = look('parked messages', alert('MessagesParked'), async () => {
    const count = await countParked(log, settings.TOPIC_PREFIX);
    return [judge(count === 0, `parked messages: ${count}`, alert('MessagesParked'))];
  });
  const cluster = async (): Promise<Finding[]> => {
    const options = { ...kafkaConnection(settings), clientId: 'makerbook-doctor', logger: silentLogger };
    const { brokers, partitions } = await readCluster(options, Object.values(names));
    return [judgeReplicas(partitions), ...judgeDisks(brokers)];
  };
  const looks = [topics, clock, cluster];
  return [...(await lookAll('Kafka', alert('KafkaAway'), looks)), ...(await parked)];
}

/** A broker that is down or hangs is in no list of brokers, but its partitions show it. */
function judgeReplicas(partitions: readonly PartitionState[]): Finding {
  const behind = partitions.filter(({ replicas, inSync }) => inSync < replicas);
  const [first] = behind;
  const example = first && `${first.topic}/${first.partition} has ${first.inSync} of ${first.replicas} in sync`;
  const what = first ? `${behind.length} of ${partitions.length} partitions lack one: ${example}` : 'all are in sync';
  return judge(first === undefined, `replicas: ${what}`, alert('ReplicasBehind'));
}

function judgeDisks(brokers: readonly BrokerState[]): Finding[] {
  return brokers.flatMap(({ address: { host, port }, disks }): Finding[] => {
    const name = `disk of ${host}:${port}`;
    if (typeof disks === 'string') return [{ verdict: 'unread', what: `${name}: ${disks}` }];
    return disks.map(({ folder, usable, total }) => {
      if (total <= 0n) return { verdict: 'unread', what: `${name}, ${folder}: the broker does not tell` };
      const free = (100n * usable) / total;
      return judge(free >= FREE_PERCENT_MIN, `${name}, ${folder}: ${free} % is free`, alert('VolumeFillsUp'));
    });
  });
}
