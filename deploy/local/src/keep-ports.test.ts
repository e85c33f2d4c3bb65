import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { KeptPorts } from './keep-ports.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'makerbook-ports-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

test('a part keeps the port of its last start', async () => {
  const first = new KeptPorts(folder);
  const ports = [await first.take('Kafka'), await first.take('Redis')];
  const second = new KeptPorts(folder);
  expect([await second.take('Kafka'), await second.take('Redis')]).toEqual(ports);
});

test('a part gets another port if another process listens on its own', async () => {
  const port = await new KeptPorts(folder).take('Kafka');
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(port, '127.0.0.1', resolve));
  try {
    expect(await new KeptPorts(folder).take('Kafka')).not.toBe(port);
  } finally {
    other.close();
  }
});

test.each(['', 'null', '{"Kafka": "no port"}'])('a file of ports that holds %j is replaced', async (content) => {
  writeFileSync(join(folder, 'ports.json'), content);
  const port = await new KeptPorts(folder).take('Kafka');
  expect(await new KeptPorts(folder).take('Kafka')).toBe(port);
});
