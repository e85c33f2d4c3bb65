import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import OrderTests from './order-tests.js';

const folder = mkdtempSync(join(tmpdir(), 'makerbook-order-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('large files are spread over the first ones, longer ones come before, and none is left out', () => {
  const sizes = {
    'shared/a/dist/one.live.test.js': 50,
    'test/dist/fuzz/short.live.test.js': 10,
    'services/b/dist/two.live.test.js': 40,
    'shared/kafka/dist/cluster/long.live.test.js': 90,
    'shared/a/dist/three.live.test.js': 30,
    'services/b/dist/four.live.test.js': 20,
    'services/b/dist/five.live.test.js': 5,
  };
  const files = Object.entries(sizes).map(([name, size]) => {
    const path = join(folder, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, 'x'.repeat(size));
    return { path };
  });
  const names = new OrderTests().sort(files).map(({ path }) => path.replace(/^.*\/|\.live.*$/g, ''));
  expect(names).toEqual(['long', 'one', 'two', 'three', 'short', 'four', 'five']);
});
