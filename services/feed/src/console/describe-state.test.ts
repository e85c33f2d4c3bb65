import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from '@jest/globals';
import { parseMetrics, readMetrics, type Told } from '@makerbook/telemetry';
import { describeState } from './describe-state.js';

const told = (name: string, metrics: string, checks = {}): Told => ({
  name,
  checks: { process: 'ok', ...checks },
  samples: parseMetrics(name, metrics),
});
const step = (counts: readonly number[]) =>
  ['0.1', '1', '+Inf']
    .map((le, n) => `projector_feed_delay_seconds_bucket{type="OrderCancelled",le="${le}"} ${counts[n]}`)
    .join('\n');
const ingress = (accepted: number, counts: readonly number[]) =>
  told('ingress', `ingress_orders_accepted_total ${accepted}\n${step(counts)}`, { kafka: 'ok' });
const projector = (lag: number, age: number) =>
  told(
    'projector',
    `projector_lag_messages{partition="0"} ${lag}\nprojector_feed_age_seconds{partition="0"} ${age}\nprojector_quarantined_makers 0`,
  );
const watcher = (name: string, isHolder: 0 | 1) =>
  told(name, `chain_watcher_holders ${isHolder}\nchain_watcher_lag_seconds 1`);
const well = [ingress(0, [0, 0, 0]), projector(3, 1), watcher('chain-watcher', 1), watcher('chain-watcher-2', 0)];

test('samples are read with their labels, and comments are skipped', () => {
  const text = '# HELP x y\n# TYPE x counter\nx{a="1",b="q\\"\\\\}"} 5 1700000000\ny 0.5\nz +Inf\n\n';
  expect([...parseMetrics('p', text).values()].flat()).toEqual([
    { name: 'x', labels: { a: '1', b: 'q"\\}', process: 'p' }, value: 5 },
    { name: 'y', labels: { process: 'p' }, value: 0.5 },
    { name: 'z', labels: { process: 'p' }, value: Infinity },
  ]);
});

const unwellOf = (all: readonly Told[]) => {
  const reading = { atMs: 0, told: all };
  return describeState(reading, reading, 5).checks.flatMap(({ isWell, alert }) => (isWell ? [] : [alert]));
};
const tableOf = ({ tables }: ReturnType<typeof describeState>, wanted: string) =>
  tables.find(([title]) => title === wanted)?.[2];

test('rates and durations are computed between two readings, even after a restart', () => {
  const first = { atMs: 0, told: [ingress(100, [50, 60, 60])] };
  const state = describeState(first, { atMs: 10_000, told: [ingress(150, [50, 70, 70])] }, 5);
  expect(state.facts).toContainEqual(['Orders in', '5.0 /s']);
  expect(tableOf(state, 'Durations')).toContainEqual(['DELETE → tombstone', '10', '550 ms', '991 ms']);
  const restarted = describeState(first, { atMs: 10_000, told: [ingress(20, [1, 1, 1])] }, 5);
  expect(restarted.facts).toContainEqual(['Orders in', '2.0 /s']);
});

test('the state shows the owner and lag of each partition, the role of each watcher, and each check', () => {
  const reading = { atMs: 0, told: well };
  const state = describeState(reading, reading, 5);
  expect(state.owners).toEqual({ 0: ['projector', 3] });
  expect(tableOf(state, 'Chain-watchers')).toEqual([
    ['chain-watcher, holder', '0', '0', '1', '0'],
    ['chain-watcher-2, standby', '0', '0', '1', '0'],
  ]);
  expect(state.checks).toContainEqual({ isWell: true, what: 'kafka: ok', alert: 'KafkaAway' });
  expect(unwellOf(well)).toEqual([]);
});

test.each<[string, readonly Told[], string]>([
  ['a process that is down', [{ ...projector(0, 1), checks: { process: 'does not answer' } }], 'ProjectorDown'],
  ['a check that fails', [told('query', '', { redis: 'does not answer' })], 'RedisAway'],
  ['a standby that is down', [{ ...watcher('chain-watcher-2', 0), checks: { process: 'away' } }], 'ChainWatcherDown'],
  ['two holders', [watcher('chain-watcher', 1), watcher('chain-watcher-2', 1)], 'NotOneHolder'],
  ['no holder', [watcher('chain-watcher', 0)], 'NotOneHolder'],
  ['no owner', [told('projector', '')], 'PartitionsUnowned'],
  ['an old clock', [projector(0, 6)], 'FeedStale'],
  [
    'quarantine',
    [told('projector-2', 'projector_lag_messages{partition="0"} 0\nprojector_quarantined_makers 2')],
    'MakersQuarantined',
  ],
  ['parked messages', [told('x', 'projector_parked_messages_total 1')], 'MessagesParked'],
])('%s is shown as not well, with its section of the runbook', (_, all, alert) => {
  expect(unwellOf(all)).toContain(alert);
});

test('a figure that no process reports is not shown', () => {
  const away = { ...projector(0, 1), checks: { process: 'does not answer' }, samples: new Map() };
  const reading = { atMs: 0, told: [away] };
  const shown = describeState(reading, reading, 5).checks.map(({ alert }) => alert);
  expect(shown).toContain('ProjectorDown');
  expect(shown).not.toContain('FeedStale');
});

test('a process is asked for its metrics and checks; one that does not answer is down', async () => {
  const server = createServer((request, response) =>
    response.end(request.url === '/readyz' ? '{"status":"ok","checks":{"kafka":"ok"}}' : 'x 1\n'),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  expect(await readMetrics('one', url)).toEqual(told('one', 'x 1', { kafka: 'ok' }));
  await new Promise((resolve) => server.close(resolve));
  expect(await readMetrics('one', url)).toEqual({
    name: 'one',
    checks: { process: 'does not answer' },
    samples: new Map(),
  });
});
