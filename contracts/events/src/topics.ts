/** One topic and its settings. */
export interface TopicSpec {
  name: string;
  partitions: number;
  config: Record<string, string>;
}

/** The names of all topics, with the deployment's prefix in front (empty in production). */
export interface TopicNames {
  makerEvents: string;
  book: string;
  fills: string;
  makers: string;
  acks: string;
  parked: string;
}

/** @param prefix put before every topic name, so several deployments can share a broker. */
export function topicNames(prefix = ''): TopicNames {
  return {
    makerEvents: `${prefix}limit-orders.maker-events.v1`,
    book: `${prefix}limit-orders.book.v1`,
    fills: `${prefix}limit-orders.fills.v1`,
    makers: `${prefix}limit-orders.makers.v1`,
    acks: `${prefix}limit-orders.acks.v1`,
    parked: `${prefix}limit-orders.parked.v1`,
  };
}

const hourMs = 60 * 60 * 1000;
const dayMs = 24 * hourMs;

/**
 * Every topic with its settings. Facts are kept for ever: they are the only truth. The broker sets their time, so all
 * writers share one clock: a record appended before a time comes before the first record with a later time. Feeds are
 * compacted to the newest record of each key. A tombstone stays a day, so a reader that was down for less sees every
 * removal. The last hour of a feed is whole, so a reader that is less behind can check each clock against what it read.
 * @param partitions fixed for life: a maker must never move to another partition.
 */
export function topicSpecs(names: TopicNames, partitions: number): TopicSpec[] {
  const feed = {
    'cleanup.policy': 'compact',
    'delete.retention.ms': String(dayMs),
    'min.compaction.lag.ms': String(hourMs),
    'max.compaction.lag.ms': String(dayMs),
  };
  const forDays = { 'cleanup.policy': 'delete', 'retention.ms': String(30 * dayMs) };
  return [
    {
      name: names.makerEvents,
      partitions,
      config: {
        'cleanup.policy': 'delete',
        'retention.ms': '-1',
        'retention.bytes': '-1',
        'message.timestamp.type': 'LogAppendTime',
      },
    },
    { name: names.book, partitions, config: feed },
    { name: names.fills, partitions, config: forDays },
    { name: names.makers, partitions, config: feed },
    { name: names.acks, partitions, config: { 'cleanup.policy': 'compact', 'segment.ms': String(hourMs) } },
    { name: names.parked, partitions, config: forDays },
  ];
}
