import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { root } from './read-repository.js';

/** `npm run alerts:test`: Prometheus itself reads the rules, and proves that each alert fires when it should. */
for (const [command, file] of [
  ['check', 'makerbook.yaml'],
  ['test', 'makerbook.test.yaml'],
] as const) {
  const { error, status } = spawnSync('promtool', [command, 'rules', file], {
    cwd: join(root, 'deploy/observability/rules'),
    stdio: 'inherit',
  });
  if (error !== undefined) {
    console.error(
      'promtool is needed, and there is none: install it, for example with `apt-get install -y prometheus`',
    );
    process.exit(1);
  }
  if (status !== 0) process.exit(status ?? 1);
}
