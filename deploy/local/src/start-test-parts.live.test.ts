import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';

const folder = mkdtempSync(join(tmpdir(), 'makerbook-setup-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('a set-up in which a part cannot start fails aloud, and leaves nothing behind', async () => {
  const setUp = join(import.meta.dirname, 'start-test-parts.js');
  const script = `import startTestParts from ${JSON.stringify(setUp)}; await startTestParts();`;
  // No id, no setpriv, no java: neither Postgres as root nor Kafka can start with this PATH.
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    env: { PATH: folder, TMPDIR: folder },
    stdio: ['ignore', 'inherit', 'pipe'],
  });
  let said = '';
  child.stderr.on('data', (data) => {
    said += data;
  });
  const code = await new Promise((resolve) => child.once('close', resolve));
  expect(code).toBe(1);
  expect(said).toMatch(/Java is missing|Maven is missing|cannot run as root/);
  expect(readdirSync(folder)).toEqual([]);
});
