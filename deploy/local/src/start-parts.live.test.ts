import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { readStackEnvironment } from './stack-env.js';
import { startParts } from './start-parts.js';
import type { Supervised } from './supervise.js';

/** With Kafka's default settings the wait is at least 9 s. */
const SESSION_WAIT_MS_MAX = 5_000;
const elsewhere = { DATABASE_URL: 'postgres://elsewhere', REDIS_URL: 'redis://elsewhere', RPC_URL: 'http://elsewhere' };
const data = mkdtempSync(join(tmpdir(), 'makerbook-parts-'));
chmodSync(data, 0o711);
const parts: Supervised[] = [];

afterAll(async () => {
  for (const part of parts) await part.stop();
  rmSync(data, { recursive: true, force: true });
});

test('a broker that is started again after a kill waits less than five seconds for its old session', async () => {
  const { promise: isBack, resolve: back } = Promise.withResolvers<void>();
  const report = (line: string) => (line === 'Kafka was started again' ? back() : undefined);
  await startParts(
    readStackEnvironment(elsewhere),
    { data, logs: join(data, 'logs') },
    { report, onStart() {} },
    (part) => parts.push(part),
  );
  parts[0]?.current().kill('SIGKILL');
  await isBack;
  expect(readWait(readFileSync(join(data, 'logs', 'kafka.log'), 'utf8'))).toBeLessThan(SESSION_WAIT_MS_MAX);
});

/** Milliseconds for which the last started broker waited for its controller. */
function readWait(log: string): number {
  const [began = NaN, ended = NaN] = ['Waiting', 'Finished waiting'].map((words) => {
    const line = log.split('\n').findLast((each) => each.includes(`${words} for the controller to acknowledge`));
    return Date.parse(line?.split(' ')[0]?.replace(',', '.') ?? '');
  });
  return ended - began;
}
