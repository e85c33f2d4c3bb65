import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';

const folder = mkdtempSync(join(tmpdir(), 'makerbook-setup-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('a setup in which a part cannot start reports the reason, and leaves nothing behind', async () => {
  const setUp = join(import.meta.dirname, 'start-test-parts.js');
  const script = `import startTestParts from ${JSON.stringify(setUp)}; await startTestParts();`;
  // No id, no setpriv, no java: neither Postgres as root nor Kafka can start with this PATH.
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    env: { PATH: folder, TMPDIR: folder },
    stdio: ['ignore', 'inherit', 'pipe'],
  });
  let errors = '';
  child.stderr.on('data', (data) => {
    errors += data;
  });
  const code = await new Promise((resolve) => child.once('close', resolve));
  expect(code).toBe(1);
  expect(errors).toMatch(/Java is missing|Maven is missing|cannot run as root/);
  expect(readdirSync(folder)).toEqual([]);
});
