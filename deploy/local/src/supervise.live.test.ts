import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, describe, expect, jest, test } from '@jest/globals';
import { spawnPart } from '@makerbook/parts';
import { type Supervised, supervise } from './supervise.js';

const folder = mkdtempSync(join(tmpdir(), 'makerbook-supervise-'));
const supervised: Supervised[] = [];
afterAll(async () => {
  await Promise.all(supervised.map((process) => process.stop()));
  rmSync(folder, { recursive: true, force: true });
});

async function start(script: string, lines: string[] = []) {
  const logFile = join(folder, `${supervised.length}.log`);
  const begin = async () => spawnPart({ name: 'worker', command: '/bin/sh', args: ['-c', script], logFile });
  const running = await supervise('worker', begin, { report: (line) => lines.push(line), onStart: () => undefined });
  supervised.push(running);
  return running;
}

describe('supervision', () => {
  test('waits longer each time a process ends again, and keeps all that it wrote', async () => {
    const lines: string[] = [];
    const worker = await start('echo tried; exit 3', lines);
    while (worker.endings() < 3) await delay(50);
    const pauses = lines.flatMap((line) => /exit code 3: starting it again in ([\d.]+) s/.exec(line)?.[1] ?? []);
    expect(pauses.slice(0, 3)).toEqual(['0.5', '1', '2']);
    expect(lines[1]).toBe('worker was started again');
    await worker.stop();
    expect(readFileSync(worker.current().logFile, 'utf8')).toMatch(/^(tried\n){3,}$/);
  });

  test('waits longer each time a process that ran for long fails to start again', async () => {
    const lines: string[] = [];
    const pauses = () => lines.flatMap((line) => /starting it again in ([\d.]+) s/.exec(line)?.[1] ?? []);
    const running = spawnPart({
      name: 'worker',
      command: '/bin/sleep',
      args: ['60'],
      logFile: join(folder, 'old.log'),
    });
    const starts = [async () => running];
    const begin = () => (starts.shift() ?? (() => Promise.reject(new Error('its data is broken'))))();
    const report = (line: string) => lines.push(line);
    const worker = await supervise('worker', begin, { report, onStart: () => undefined });
    supervised.push(worker);
    const now = performance.now.bind(performance);
    const anHourLater = jest.spyOn(performance, 'now').mockImplementation(() => now() + 3_600_000);
    running.kill('SIGKILL');
    while (pauses().length < 3) await delay(50);
    anHourLater.mockRestore();
    expect(pauses().slice(0, 3)).toEqual(['0.5', '1', '2']);
    expect(lines[1]).toContain('worker does not start (Error: its data is broken): starting it again');
  });

  test('stops a process for good, even while it waits to start it again', async () => {
    const running = await start('sleep 60');
    await running.stop();
    const waiting = await start('exit 1');
    while (waiting.endings() < 1) await delay(20);
    await waiting.stop();
    const pids = [running.current().pid, waiting.current().pid];
    await delay(1_000);
    expect([running.current().pid, waiting.current().pid]).toEqual(pids);
  });

  test('kills a process that ignores the order to stop', async () => {
    const logFile = join(folder, 'deaf.log');
    const ready = join(folder, 'deaf.ready');
    const script = `trap "" TERM; : > ${ready}; while :; do sleep 0.1; done`;
    const deaf = spawnPart({ name: 'deaf', command: '/bin/sh', args: ['-c', script], logFile, stopTimeoutMs: 300 });
    while (!existsSync(ready)) await delay(20);
    await deaf.stop();
    expect(await deaf.exited).toEqual({ code: null, signal: 'SIGKILL' });
  });
});
