import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from '@jest/globals';
import { findFreePort, type Part, startAnvil, startKafka, startPostgres, startRedis, testParts } from './index.js';
import { openFolder } from './testing/open-folder.js';

const { inFolder, keep } = openFolder('parts');
const portOf = (url: string) => Number(new URL(url).port);

test.each([
  ['Kafka', startKafka, async () => portOf(`kafka://${testParts().kafkaBrokers}`)],
  ['Postgres', startPostgres, async () => portOf(await testParts().databaseUrl())],
  ['Redis', startRedis, async () => portOf(testParts().redisUrl)],
  ['anvil', startAnvil, async () => portOf((await keep(startAnvil())).rpcUrl)],
] as const)('%s says which port is in use', async (name, start, findUsedPort) => {
  const port = await findUsedPort();
  const message = `${name} cannot listen: port ${port} is in use`;
  await expect(keep<Part>(start({ dataDir: inFolder(`taken-${name}`), port }))).rejects.toMatchObject({ message });
});

test.each([
  ['Kafka', startKafka, 'log/meta.properties', 'version=1\nnode.id=7\ncluster.id=other\n', /Kafka .*, move it away$/],
  [
    'Postgres',
    startPostgres,
    'letter.txt',
    'not a database',
    /^PostgreSQL cannot use its data folder .*: move it away and start again$/,
  ],
  ['anvil', startAnvil, 'state.json', '{"block": tru', /is broken, move it away$/],
] as const)('%s refuses a data folder that is not its own in one sentence that says what to do', async (...given) => {
  const [name, start, file, content, message] = given;
  const dataDir = inFolder(`foreign-${name}`);
  mkdirSync(dirname(join(dataDir, file)), { recursive: true });
  writeFileSync(join(dataDir, file), content);
  const starting = keep<Part>(start({ dataDir, port: await findFreePort() }));
  await expect(starting).rejects.toMatchObject({ name: 'PartError', message: expect.stringMatching(message) });
  await expect(starting).rejects.toThrow(dataDir);
});
