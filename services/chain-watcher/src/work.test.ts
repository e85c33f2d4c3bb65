import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { RpcUnavailable } from '@makerbook/chain';
import { encodeMakerEvent, topicNames } from '@makerbook/contracts-events';
import { LogInMemory } from '@makerbook/kafka/testing';
import { silentLogger } from '@makerbook/telemetry';
import { Work, type WorkParts } from './work.js';

const topics = topicNames();

test('a watcher publishes nothing until it has read what the one before it has published', async () => {
  const log = new LogInMemory({ partitions: 1 });
  const view = log.connect(async (what, serve) => {
    if (what === 'fetch') await pause(50);
    return serve();
  });
  const block = { number: 7, hash: `0x${'7'.repeat(64)}`, timestamp: 7 } as const;
  const message = encodeMakerEvent({ type: 'BlockProcessed', block }, { id: 'test', source: '/test', timeMs: 0 });
  const over = new AbortController();
  const known: unknown[] = [];
  const away = () => Promise.reject(new RpcUnavailable('away'));
  const work: Work = new Work({
    log: view,
    topics,
    openPublisher: () => ({
      takeOver: async () => void log.store([{ topic: topics.makerEvents, partition: 0, ...message, key: '0' }]),
      append: async () => [],
      publish: async () => undefined,
      close: async () => undefined,
    }),
    settings: { PARTITIONS: 1, TAKEOVER_MS: 1_000 },
    node: { callAll: away, call: away, endpoints: () => [] },
    source: { headNumber: () => 7 },
    loadOrders: async () => [],
    verifyChain: async () => undefined,
    logger: silentLogger,
    signal: over.signal,
    monotonicMs: () => 0,
    unixMs: () => 0,
    random: () => 0,
    wait: (ms: number) => pause(ms),
    retryFor: () => (once: () => unknown) => once(),
    onRole: (role: string) => {
      if (role !== 'HOLDER') return;
      known.push(work.followed.newestBlock()?.number);
      over.abort();
    },
    onFatal: (error: Error) => known.push(error),
  } as unknown as WorkParts);
  await work.run();
  expect(known).toEqual([7]);
});
