import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { findFreePort, type RedisPart, startRedis, testParts } from './index.js';

const folder = mkdtempSync(join(tmpdir(), 'makerbook-redis-'));
const started: RedisPart[] = [];

afterAll(async () => {
  await Promise.all(started.map((part) => part.stop()));
  rmSync(folder, { recursive: true, force: true });
});

describe('Redis', () => {
  // Both ways must work on the machine that runs the tests when it has a redis-server; the jar's must always.
  test.each(['jar', undefined] as const)('starts, answers and runs scripts (binary: %s)', async (binary) => {
    const port = await findFreePort();
    const options = { dataDir: join(folder, `from-${binary}`), port };
    const part = await startRedis(binary === undefined ? options : { ...options, binary });
    started.push(part);
    expect(part.url).toBe(`redis://127.0.0.1:${port}`);
    expect(await ask(port, 'SET key value')).toBe('+OK');
    expect(await ask(port, 'EVAL return(1+1) 0')).toBe(':2');
    await part.stop();
    await expect(ask(port, 'PING')).rejects.toThrow('ECONNREFUSED');
  });

  test('starts empty: it is a cache', async () => {
    const port = await findFreePort();
    const options = { dataDir: join(folder, 'cache'), port };
    const first = await startRedis(options);
    started.push(first);
    await ask(port, 'SET key value');
    await first.stop();
    started.push(await startRedis(options));
    expect(await ask(port, 'EXISTS key')).toBe(':0');
  });

  test('names the port that is in use', async () => {
    const port = Number(new URL(testParts().redisUrl).port);
    await expect(startRedis({ dataDir: join(folder, 'taken'), port })).rejects.toMatchObject({
      message: `Redis cannot listen: port ${port} is in use`,
    });
  });
});

/** The first line of the answer to a command. */
function ask(port: number, command: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(`${command}\r\n`));
    socket.once('data', (data) => {
      socket.destroy();
      resolve(data.toString().trim());
    });
    socket.once('error', reject);
  });
}
