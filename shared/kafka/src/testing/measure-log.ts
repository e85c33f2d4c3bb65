import { randomBytes } from 'node:crypto';
import { pathToFileURL } from 'node:url';
import type { connectLog } from '../connect-log.js';
import type { Log, LogRecord } from '../log.js';

/**
 * CPU of this process per record, and the latency of an append, of one or more builds of this package in turn:
 * `node measure-log.js <brokers> <a build's dist/index.js>…`. Each line is the median of the rounds.
 */
const ROUNDS = 7;
const SINGLE_CALLS = 6_400;
const CALLERS = 64;
const LARGE_CALLS = 100;
const RECORDS_PER_LARGE_CALL = 1_000;
const LATENCY_CALLS = 200;

const quiet = { debug: () => undefined, info: () => undefined, warn: console.warn, error: console.error };
const [brokers = '', ...builds] = process.argv.slice(2);

function recordOf(topic: string, n: number): LogRecord {
  const headers = {
    ce_id: `id-${String(n).padStart(33, '0')}`,
    ce_type: 'OrderSubmitted',
    ce_source: '/ingress',
    ce_time: '2026-01-01T00:00:00Z',
    traceparent: `00-${'a'.repeat(50)}`,
  };
  return { topic, partition: 0, key: `0x${'ab'.repeat(20)}`, value: Buffer.alloc(300, n), headers };
}

/** Microseconds of CPU per record. */
async function cpuOf(records: number, work: () => Promise<void>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / records;
}

async function measure(log: Log): Promise<Record<string, number>> {
  const topic = `measure-${randomBytes(6).toString('hex')}`;
  await log.createTopics([{ name: topic, partitions: 1, config: {} }]);
  const appender = log.createAppender({ timeoutMs: 30_000 });
  await appender.append([recordOf(topic, 0)]);
  const waits: number[] = [];
  for (let n = 0; n < LATENCY_CALLS; n += 1) {
    const from = performance.now();
    await appender.append([recordOf(topic, n)]);
    waits.push(performance.now() - from);
  }
  const single = await cpuOf(SINGLE_CALLS, async () => {
    const call = async () => {
      for (let n = 0; n < SINGLE_CALLS / CALLERS; n += 1) await appender.append([recordOf(topic, n)]);
    };
    await Promise.all(Array.from({ length: CALLERS }, call));
  });
  const large = await cpuOf(LARGE_CALLS * RECORDS_PER_LARGE_CALL, async () => {
    const records = Array.from({ length: RECORDS_PER_LARGE_CALL }, (_, n) => recordOf(topic, n));
    for (let n = 0; n < LARGE_CALLS; n += 1) await appender.append(records);
  });
  let seen = 0;
  const consume = await cpuOf(1 + LATENCY_CALLS + SINGLE_CALLS + LARGE_CALLS * RECORDS_PER_LARGE_CALL, async () => {
    const following = log.followTopic({
      topic,
      from: 'beginning',
      onRecords: (_, records) => {
        seen += records.length;
      },
    });
    await following.caughtUp;
    await following.stop();
  });
  if (seen !== 1 + LATENCY_CALLS + SINGLE_CALLS + LARGE_CALLS * RECORDS_PER_LARGE_CALL) {
    throw new Error(`${seen} records were read`);
  }
  return { 'append 1, µs': single, 'append 1,000, µs': large, 'consume, µs': consume, 'p50, ms': median(waits) };
}

function median(values: readonly number[]): number {
  return [...values].sort((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN;
}

const results = new Map<string, Record<string, number>[]>(builds.map((build) => [build, []]));
for (let round = 0; round <= ROUNDS; round += 1) {
  for (const [build, rounds] of results) {
    const opened: { connectLog: typeof connectLog } = await import(pathToFileURL(build).href);
    const log = opened.connectLog({ brokers: [brokers], clientId: 'measure', logger: quiet });
    const result = await measure(log);
    await log.close();
    // The first round warms up.
    if (round > 0) rounds.push(result);
  }
}
for (const [build, rounds] of results) {
  const names = Object.keys(rounds[0] ?? {});
  const medians = names.map((name) => `${name} ${median(rounds.map((round) => round[name] ?? Number.NaN)).toFixed(2)}`);
  console.log(`${build}: ${medians.join('; ')}`);
}
