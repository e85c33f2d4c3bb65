import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import {
  decodeMakerEvent,
  encodeBookEntry,
  encodeResumeRecord,
  type OrderSubmitted,
  topicNames,
  topicSpecs,
} from '@makerbook/contracts-events';
import { connectLog } from '@makerbook/kafka';
import { findFreePort, startKafka } from '@makerbook/local-stack';
import { silentLogger } from '@makerbook/telemetry';
import { followLog } from '../follow-log.js';
import { WatchedSet } from '../keep-watched-set.js';
import { writeHistory } from './write-history.js';

/**
 * What a start costs, on a Kafka of its own: `node measure-start.js --records 1000000 --orders 1000`. The same log is read
 * from its beginning, and from the book with a position half a minute old.
 */
const { values } = parseArgs({
  options: { records: { type: 'string', default: '1000000' }, orders: { type: 'string', default: '1000' } },
});
const PARTITIONS = 48;
const TAIL_BLOCKS = 30;
const folder = mkdtempSync(join(tmpdir(), 'makerbook-start-'));
const kafka = await startKafka({ dataDir: join(folder, 'data'), port: await findFreePort() });
const log = connectLog({ brokers: [kafka.brokers], clientId: 'measure', logger: silentLogger });
try {
  const prefix = `start-${randomBytes(4).toString('hex')}.`;
  const topics = topicNames(prefix);
  const noBook = { ...topicNames(`${prefix}none.`), makerEvents: topics.makerEvents };
  const specs = [...topicSpecs(topics, PARTITIONS), ...topicSpecs(noBook, PARTITIONS).slice(1)];
  await log.createTopics(specs.map((spec) => ({ ...spec, replicationFactor: 1 })));
  const appender = log.createAppender({ timeoutMs: 60_000 });
  const history = writeHistory({ seed: 1, appender, topic: topics.makerEvents, partitions: PARTITIONS, makers: 1 });
  await history.writeOpenOrders(Number(values.orders));
  await history.writeBlocks(Math.ceil(Number(values.records) / PARTITIONS));
  const ends = await log.endOffsets(topics.makerEvents);

  const opened: { readonly fact: OrderSubmitted; readonly partition: number; readonly offset: bigint }[] = [];
  const orders = log.followTopic({
    topic: topics.makerEvents,
    from: 'beginning',
    onRecords: (partition, records) => {
      for (const record of records) {
        if (record.key === '') continue;
        const fact = decodeMakerEvent(record);
        if ('type' in fact && fact.type === 'OrderSubmitted') opened.push({ fact, partition, offset: record.offset });
      }
    },
  });
  await orders.caughtUp;
  await orders.stop();
  for (const { fact, partition, offset } of opened) {
    const { orderHash, order, signature, acceptedAtMs } = fact;
    const entry = {
      type: 'BookEntry' as const,
      orderHash,
      order,
      signature,
      remainingMakingAmount: order.making.amount,
      routableUntil: 2_000_000_000,
      acceptedAtMs,
      position: { partition, offset: String(offset) },
      status: 'ACTIVE' as const,
      funding: { balance: '0x1' as const, balanceBlock: 1, allowance: '0x1' as const, allowanceBlock: 1 },
    };
    const { value, headers } = encodeBookEntry(entry, { id: '1', source: '/measure', timeMs: 0 });
    await appender.append([{ topic: topics.book, partition, key: orderHash, value, headers }]);
  }
  for (const [partition, end] of ends.entries()) {
    const position = { partition, offset: String(end - BigInt(TAIL_BLOCKS)) };
    const record = encodeResumeRecord({ type: 'BookPosition', position }, { id: '1', source: '/measure', timeMs: 0 });
    await appender.append([{ topic: topics.resume, partition, ...record, key: record.key ?? '' }]);
  }

  for (const [name, from] of [['from the beginning', noBook] as const, ['from the book', topics] as const]) {
    const watched = new WatchedSet(PARTITIONS);
    const startedAtMs = performance.now();
    const cpu = process.cpuUsage();
    const followed = followLog({
      log,
      topics: from,
      partitions: PARTITIONS,
      watched,
      logger: silentLogger,
      onCaughtUp: () => undefined,
      onOpened: () => undefined,
      onFatal: (error) => {
        throw error;
      },
    });
    await followed.caughtUp;
    const { user, system } = process.cpuUsage(cpu);
    const figures = {
      tookMs: Math.round(performance.now() - startedAtMs),
      cpuMs: Math.round((user + system) / 1000),
      records: followed.counts().records,
      orders: watched.sizes().orders,
    };
    console.log(`${name}: ${JSON.stringify(figures)}`);
    await followed.stop();
  }
} finally {
  await log.close();
  await kafka.stop();
  rmSync(folder, { recursive: true, force: true });
}
