import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, describe, expect, test } from '@jest/globals';
import { startTimeOf } from '@makerbook/parts';
import { rotateLogs } from './rotate-logs.js';
import { awaitLeftovers, readProcessesFile, removeStackFiles, writeProcessesFile } from './write-stack-files.js';

const folder = mkdtempSync(join(tmpdir(), 'makerbook-folder-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the data folder', () => {
  test('is used again only when the last process of a killed supervisor has ended', async () => {
    const left = spawn('/bin/sleep', ['3'], { detached: true, stdio: 'ignore' });
    const entry = { name: 'Kafka', pid: left.pid ?? 0, logFile: 'kafka.log' };
    writeProcessesFile(folder, { supervisorPid: 1, settings: {}, processes: [entry] });
    expect(readProcessesFile(folder)?.processes).toEqual([expect.objectContaining(entry)]);
    await awaitLeftovers(folder);
    expect(startTimeOf(entry.pid)).toBeUndefined();
    removeStackFiles(folder);
    expect(readProcessesFile(folder)).toBeUndefined();
  });

  test('keeps the log of the last run and no older one, and empties a log that grows too long', async () => {
    const logs = join(folder, 'logs');
    mkdirSync(logs);
    for (const run of ['first', 'second', 'third']) {
      const end = rotateLogs(logs, 1_000, 50);
      end();
      writeFileSync(join(logs, 'a.log'), run);
    }
    expect(readFileSync(join(logs, 'a.log.1'), 'utf8')).toBe('second');
    expect(existsSync(join(logs, 'a.log.1.1'))).toBe(false);
    const end = rotateLogs(logs, 1_000, 50);
    writeFileSync(join(logs, 'a.log'), 'x'.repeat(1_001));
    while (readFileSync(join(logs, 'a.log'), 'utf8') !== '') await delay(20);
    writeFileSync(join(logs, 'a.log'), 'x'.repeat(1_000));
    await delay(200);
    end();
    expect(readFileSync(join(logs, 'a.log'), 'utf8')).toHaveLength(1_000);
  });
});
