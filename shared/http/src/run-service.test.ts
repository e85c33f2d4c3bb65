import { expect, test } from '@jest/globals';
import { type Starting, startService } from './run-service.js';

/** Opens three things. The second cannot be closed. */
function open({ onStop }: Starting, closed: string[]) {
  onStop(() => closed.push('first'));
  onStop(() => Promise.reject(new Error('it hangs')));
  onStop(() => closed.push('last'));
}

test('a service that stops closes everything, the last opened first, and then throws what failed', async () => {
  const closed: string[] = [];
  const { stop } = await startService(async (starting) => {
    open(starting, closed);
    return {};
  });
  await expect(stop()).rejects.toThrow('it hangs');
  expect(closed).toEqual(['last', 'first']);
  await stop();
});

test('a service that fails to start closes everything, the last opened first, and throws the reason', async () => {
  const closed: string[] = [];
  const starting = startService(async (starting) => {
    open(starting, closed);
    throw new Error('no port');
  });
  await expect(starting).rejects.toThrow('no port');
  expect(closed).toEqual(['last', 'first']);
});
