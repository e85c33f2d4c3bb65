import { expect, test } from '@jest/globals';
import { Unavailable, unlessAway } from './index.js';

test('there is no answer while a part is down, and any other error is thrown', async () => {
  class LogAway extends Unavailable {}
  expect(await unlessAway(Promise.resolve(7))).toBe(7);
  expect(await unlessAway(Promise.reject(new LogAway('away')))).toBeUndefined();
  await expect(unlessAway(Promise.reject(new TypeError('a bug')))).rejects.toThrow(TypeError);
});
