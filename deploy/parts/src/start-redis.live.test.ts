import { connect } from 'node:net';
import { describe, expect, test } from '@jest/globals';
import { findFreePort, startRedis } from './index.js';
import { openFolder } from './testing/open-folder.js';

const { inFolder, keep } = openFolder('redis');

describe('Redis', () => {
  // Both ways must work on the machine that runs the tests when it has a redis-server; the jar's must always.
  test.each(['jar', undefined] as const)('starts, answers and runs scripts (binary: %s)', async (binary) => {
    const port = await findFreePort();
    const options = { dataDir: inFolder(`from-${binary}`), port };
    const part = await keep(startRedis(binary === undefined ? options : { ...options, binary }));
    expect(part.url).toBe(`redis://127.0.0.1:${port}`);
    expect(await ask(port, 'SET key value')).toBe('+OK');
    expect(await ask(port, 'EVAL return(1+1) 0')).toBe(':2');
    await part.stop();
    await expect(ask(port, 'PING')).rejects.toThrow('ECONNREFUSED');
  });

  test('starts empty: it is a cache', async () => {
    const port = await findFreePort();
    const options = { dataDir: inFolder('cache'), port };
    const first = await keep(startRedis(options));
    await ask(port, 'SET key value');
    await first.stop();
    await keep(startRedis(options));
    expect(await ask(port, 'EXISTS key')).toBe(':0');
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
