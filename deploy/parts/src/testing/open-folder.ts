import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from '@jest/globals';
import type { Part } from '../spawn-part.js';

/** Makes a temporary folder for a test file. At the end it is removed, and its parts are killed. */
export function openFolder(name: string) {
  const folder = mkdtempSync(join(tmpdir(), `makerbook-${name}-`));
  // Root runs Postgres as another user, who needs to enter this folder.
  chmodSync(folder, 0o755);
  const started: Part[] = [];
  afterAll(async () => {
    for (const part of started) part.kill('SIGKILL');
    await Promise.all(started.map((part) => part.exited));
    rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  });
  return {
    inFolder: (...path: string[]) => join(folder, ...path),
    async keep<P extends Part>(starting: Promise<P>): Promise<P> {
      const part = await starting;
      started.push(part);
      return part;
    },
  };
}
