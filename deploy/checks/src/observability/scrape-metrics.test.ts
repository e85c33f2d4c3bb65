import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { readText, root } from '../read-manifests.js';
import { described, services } from './read-metrics.js';

/** Files that make instruments which several services have. */
const sharedMakers = [
  'shared/http/src/observe-requests.ts',
  'shared/http/src/serve-ops.ts',
  'shared/telemetry/src/create-instruments.ts',
  'shared/telemetry/src/measure-clients.ts',
  'shared/telemetry/src/start-telemetry.ts',
];

function sourcesUnder(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => /\/src\/.*(?<!\.test)\.ts$/.test(file) && !/node_modules|\/testing\//.test(file))
    .map((file) => `${folder}/${file}`);
}

test('instruments are made only in the files that are searched for them', () => {
  const makers = ['services', 'shared']
    .flatMap(sourcesUnder)
    .filter((path) => /getMeter\(|= createInstruments\(/.test(readText(path)));
  const own = services.map((service) => `services/${service}/src/metrics.ts`);
  expect(makers.toSorted()).toEqual([...own, ...sharedMakers].toSorted());
  expect([...(described.get('shared')?.keys() ?? [])]).toEqual(
    expect.arrayContaining(['service_ready', 'service_check_passing']),
  );
});

test.each([...described])('a scrape describes each metric of %s', (_, metrics) => {
  expect(metrics.size).toBeGreaterThan(3);
  const undescribed = [...metrics].filter(([, help]) => help === 'description missing');
  expect(undescribed).toEqual([]);
});
