import { afterAll, afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { MakerEvent } from '@makerbook/contracts-events';
import type { Hex } from '@makerbook/contracts-primitives';
import type { Appender, LogRecord } from '@makerbook/kafka';
import { readRecords } from '@makerbook/kafka/testing';
import { findFreePort, openTcpGate, testParts, until } from '@makerbook/parts';
import { readSettings } from '@makerbook/settings';
import { silentLogger, startTelemetry } from '@makerbook/telemetry';
import { projectorSettings } from './env.js';
import { type RunningProjector, runProjector } from './run.js';
import { readMakers } from './store/open-store.js';
import { makersOf, startSeconds, storedRecord, submittedOf, unfoldable } from './testing/generate-facts.js';
import { deploy, testPartition as partition, type TestDeployment, testPartitions } from './testing/test-projection.js';

const makers = makersOf(partition, testPartitions, 3);
const [maker] = makers as [Hex];
const telemetry = { ...startTelemetry('projector', { LOG_LEVEL: 'error' }), logger: silentLogger };
afterAll(telemetry.stop);

let here: TestDeployment;
let appender: Appender;
let environment: Record<string, string>;
const running: RunningProjector[] = [];

beforeEach(async () => {
  here = await deploy();
  appender = here.log.createAppender({ lingerMs: 0, timeoutMs: 60_000 });
  environment = { ...here.environment };
});
afterEach(async () => {
  await Promise.all(running.splice(0).map((projector) => projector.stop()));
  await here.stop();
});

async function start(): Promise<RunningProjector> {
  const projector = await runProjector(readSettings(projectorSettings, environment), telemetry);
  running.push(projector);
  return projector;
}

function recordOf(fact: MakerEvent, index: number): LogRecord {
  const { headers, value, key } = storedRecord(fact, { partition, offset: BigInt(index) }, startSeconds * 1000);
  return { topic: here.topics.makerEvents, partition, key, value, headers };
}

function submitted(number: number): LogRecord {
  return recordOf(submittedOf(maker, number), number);
}

async function projected(offset: bigint): Promise<void> {
  await until(async () => (await here.position()) >= offset);
}

async function ask(projector: RunningProjector, path: string) {
  const answer = await fetch(`http://127.0.0.1:${projector.opsPort}${path}`);
  return { status: answer.status, text: await answer.text() };
}

describe('a running projector', () => {
  test('projects what is appended, and says that it is alive and ready, and what it did', async () => {
    const projector = await start();
    await appender.append([submitted(0), submitted(1)]);
    await projected(2n);
    expect((await readMakers(here.postgres, partition, [maker])).orders).toHaveLength(2);
    await until(async () => (await ask(projector, '/readyz')).status === 200);
    expect(JSON.parse((await ask(projector, '/readyz')).text)).toMatchObject({
      status: 'ok',
      checks: { kafka: 'ok', postgres: 'ok', partitions: 'ok' },
      notes: { assigned: `${testPartitions} partitions` },
    });
    expect((await ask(projector, '/livez')).status).toBe(200);
    // The lag also counts messages that are handled and not committed yet.
    await until(async () =>
      /^projector_lag_messages\{partition="1"\} 0/m.test((await ask(projector, '/metrics')).text),
    );
    const { text } = await ask(projector, '/metrics');
    expect(text).toMatch(/^projector_transitions_total\{kind="OrderOpened",outcome=""\} 2/m);
    expect(text).toMatch(/^projector_commit_duration_seconds_count/m);
    expect(text).toMatch(/^service_ready 1$/m);
    expect(text).toMatch(/^service_check_passing\{check="postgres"\} 1$/m);
    expect(text).toMatch(/^projector_parked_messages_total 0$/m);
  });

  test('parks what it cannot read, with the reason, and goes on with the rest', async () => {
    const projector = await start();
    const elsewhere = makersOf((partition + 1) % testPartitions, testPartitions, 1)[0] ?? maker;
    const unreadable = { ...submitted(2), value: Buffer.from('{"no":"order"}') };
    const notJson = { ...submitted(3), value: Buffer.from('{') };
    const misplaced = recordOf(
      { type: 'MakerAdmitted', maker: elsewhere, cause: { kind: 'operator', commandId: 'c' } },
      4,
    );
    const noAmount = recordOf(unfoldable(makers[1] as Hex), 5);
    await appender.append([submitted(0), unreadable, notJson, misplaced, noAmount, submitted(1)]);
    await projected(6n);
    expect(
      (await readMakers(here.postgres, partition, [maker])).orders.map(({ acceptedOffset }) => acceptedOffset),
    ).toEqual([0n, 5n]);
    const parked = await readRecords(here.log, here.topics.parked);
    const reasons = new Map(parked.map(({ headers }) => [headers['parked-offset'], headers['parked-reason']]));
    expect(parked).toHaveLength(4);
    expect(reasons.get('1')).toMatch(/^OrderSubmitted: [\s\S]*at orderHash/);
    expect(reasons.get('2')).toMatch(/not JSON/);
    expect(reasons.get('3')).toMatch(/belongs to partition 1, not 0/);
    expect(reasons.get('4')).toMatch(/who is quarantined: the order makes an amount of zero/);
    expect(parked.find(({ headers }) => headers['parked-offset'] === '4')?.headers).toMatchObject({
      'parked-topic': here.topics.makerEvents,
      'parked-partition': String(partition),
      'parked-maker': makers[1],
      ce_type: 'makerbook.OrderSubmitted.v1',
    });
    const { text } = await ask(projector, '/metrics');
    expect(text).toMatch(/^projector_parked_messages_total [45]$/m);
    expect(text).toMatch(/^projector_quarantined_makers(\{[^}]*\})? 1$/m);
    expect((await ask(projector, '/readyz')).status).toBe(200);
  });

  test('is alive and not ready while Postgres or Kafka is down at its start, and begins once both are back', async () => {
    const opsPort = await findFreePort();
    const gates = {
      postgres: await openTcpGate(here.databaseUrl),
      kafka: await openTcpGate(`kafka://${testParts().kafkaBrokers}`),
    };
    try {
      await gates.postgres.shut();
      await gates.kafka.shut();
      environment['DATABASE_URL'] = gates.postgres.url;
      environment['KAFKA_BROKERS'] = new URL(gates.kafka.url).host;
      environment['OPS_PORT'] = String(opsPort);
      const starting = start();
      const health = (path: string) => fetch(`http://127.0.0.1:${opsPort}${path}`).catch(() => undefined);
      const saysOf = async (away: RegExp) => away.test((await (await health('/readyz'))?.text()) ?? '');
      await until('it waits for Postgres', () => saysOf(/"start":"[^"]*(ECONNREFUSED|connection)/i));
      expect([(await health('/livez'))?.status, (await health('/readyz'))?.status]).toEqual([200, 503]);
      await gates.postgres.open();
      await until('it waits for Kafka', () => saysOf(/"start":"no broker/));
      expect([(await health('/livez'))?.status, (await health('/readyz'))?.status]).toEqual([200, 503]);
      await gates.kafka.open();
      await starting;
      await appender.append([submitted(0)]);
      await projected(1n);
      await until('it is ready', async () => (await health('/readyz'))?.status === 200);
    } finally {
      await Promise.all(running.splice(0).map((projector) => projector.stop()));
      await Promise.all([gates.postgres.close(), gates.kafka.close()]);
    }
  });

  test('refuses to start if topics are missing or have other partitions, and says so', async () => {
    environment['PARTITIONS'] = String(testPartitions + 1);
    await expect(start()).rejects.toMatchObject({ name: 'TopicMismatch' });
    environment['TOPIC_PREFIX'] = `${here.prefix}nowhere.`;
    await expect(start()).rejects.toMatchObject({ name: 'TopicMismatch' });
  });

  test('refuses to start on a schema that is not its own, and says what to do', async () => {
    environment['DATABASE_URL'] = await testParts().databaseUrl();
    await expect(start()).rejects.toMatchObject({
      name: 'SchemaMismatch',
      message: expect.stringMatching(/^the database lacks 0001-read-model.sql.*: run `operator migrate`/),
    });
  });
});
