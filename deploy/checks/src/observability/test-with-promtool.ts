import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readOptions } from '@makerbook/settings';
import { root } from '../read-manifests.js';
import { RULES_FOLDER, readRulesFile } from './read-rules.js';

const files = ['objectives', 'causes'] as const;
const tests = files.map((name) => `${name}.test.yaml`);

readOptions(
  `npm run alerts:test
  has Prometheus itself read the rules, and prove that each alert fires when it should. Needs promtool`,
  {},
);
const folder = mkdtempSync(join(tmpdir(), 'makerbook-rules-'));
try {
  // promtool reads the groups of a PrometheusRule, not the object. JSON is YAML.
  for (const name of files) writeFileSync(join(folder, `${name}.yaml`), JSON.stringify(readRulesFile(name)));
  for (const file of tests) copyFileSync(join(root, RULES_FOLDER, file), join(folder, file));
  process.exitCode = run('check', ...files.map((name) => `${name}.yaml`)) || run('test', ...tests);
} finally {
  rmSync(folder, { recursive: true });
}

function run(command: string, ...names: readonly string[]): number {
  const { error, status } = spawnSync('promtool', [command, 'rules', ...names], { cwd: folder, stdio: 'inherit' });
  if (error !== undefined)
    console.error('there is no promtool: install it, for example by `apt-get install -y prometheus`');
  return status ?? 1;
}
