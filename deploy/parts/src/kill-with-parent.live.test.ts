import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { openFolder } from './testing/open-folder.js';

const { inFolder } = openFolder('children');

/** Starts a chain, and a part that ignores every stop signal. Prints their pids, and waits. */
const SUPERVISOR = `
import { startAnvil, startRedis, findFreePort } from ${JSON.stringify(join(import.meta.dirname, 'index.js'))};
import { spawnPart } from ${JSON.stringify(join(import.meta.dirname, 'spawn-part.js'))};
const anvil = await startAnvil({ dataDir: process.argv[1] + '/anvil' });
const redis = await startRedis({ dataDir: process.argv[1] + '/redis', port: await findFreePort() });
const deaf = spawnPart({
  name: 'deaf',
  command: '/bin/sh',
  args: ['-c', 'trap "" TERM INT HUP; while :; do sleep 0.2; done'],
  logFile: process.argv[1] + '/deaf.log',
});
const gone = await startAnvil();
await gone.stop();
console.log(JSON.stringify([anvil.pid, redis.pid, deaf.pid]));
setInterval(() => {}, 1000);
`;

describe('killWithParent', () => {
  test.each(['SIGKILL', 'SIGTERM'] as const)(
    'leaves no process running after its supervisor ends by %s',
    async (signal) => {
      const supervisor = spawn(process.execPath, ['--input-type=module', '-e', SUPERVISOR, inFolder()], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const line = await new Promise<string>((resolve, reject) => {
        supervisor.stdout.once('data', (data) => resolve(String(data)));
        supervisor.once('exit', () => reject(new Error('the supervisor ended too early')));
      });
      const pids = JSON.parse(line) as number[];
      expect(pids.filter(isAlive)).toEqual(pids);

      supervisor.kill(signal);
      const deadline = Date.now() + 90_000;
      while (pids.some(isAlive) && Date.now() < deadline) await delay(100);
      expect(pids.filter(isAlive)).toEqual([]);
    },
  );
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
