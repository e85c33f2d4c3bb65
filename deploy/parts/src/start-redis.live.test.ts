import { describe, expect, test } from '@jest/globals';
import { findFreePort, startRedis } from './index.js';
import { openFolder } from './testing/open-folder.js';
import { askRedis } from './testing/redis-user.js';

const { inFolder, keep } = openFolder('redis');

describe('Redis', () => {
  // The jar's binary must always work. The machine's own redis-server must work too, if there is one.
  test.each(['jar', undefined] as const)('starts, answers and runs scripts (binary: %s)', async (binary) => {
    const port = await findFreePort();
    const options = { dataDir: inFolder(`from-${binary}`), port };
    const part = await keep(startRedis(binary === undefined ? options : { ...options, binary }));
    expect(part.url).toBe(`redis://127.0.0.1:${port}`);
    expect(await askRedis(part.url, 'SET key value')).toBe('+OK');
    expect(await askRedis(part.url, 'EVAL return(1+1) 0')).toBe(':2');
    await part.stop();
    await expect(askRedis(part.url, 'PING')).rejects.toThrow('ECONNREFUSED');
  });

  test('starts empty, because it is a cache', async () => {
    const options = { dataDir: inFolder('cache'), port: await findFreePort() };
    const first = await keep(startRedis(options));
    await askRedis(first.url, 'SET key value');
    await first.stop();
    await keep(startRedis(options));
    expect(await askRedis(first.url, 'EXISTS key')).toBe(':0');
  });
});
