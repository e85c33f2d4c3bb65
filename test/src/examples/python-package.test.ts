import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { findRoot } from '../conformance/find-root.js';
import { hasPython, pythonEnvironment, pythonLacks } from './find-python.js';

const root = findRoot();
if (pythonLacks.length > 0) console.warn(pythonLacks.join('\n'));

(hasPython ? test : test.skip)('the package for Python passes its own tests', () => {
  const words = ['-m', 'unittest', 'discover', '-s', 'shared/client-python/tests'];
  const { status, stderr } = spawnSync('python3', words, {
    cwd: root,
    env: { ...process.env, ...pythonEnvironment },
    encoding: 'utf8',
  });
  expect([status, stderr]).toEqual([0, expect.stringMatching(/^Ran [1-9][0-9] tests in /m)]);
});

test('the bot in the README of the package for Python is the example, word for word', () => {
  const [, bot] =
    /^```python\n("""A market maker's bot.*?)^```$/ms.exec(
      readFileSync(join(root, 'shared/client-python/README.md'), 'utf8'),
    ) ?? [];
  expect(bot).toBe(readFileSync(join(root, 'examples/python/quoter.py'), 'utf8'));
});
