import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { readText } from '../read-manifests.js';
import { type AlertingRule, RULES_FOLDER, readRulesFile } from './read-rules.js';

const hasPromtool = spawnSync('promtool', ['--version']).error === undefined;
if (!hasPromtool)
  console.warn(
    'the bounds of the alerts are not judged: install promtool, for example by `apt-get install prometheus`',
  );
const describeIfPromtool = hasPromtool ? describe : describe.skip;

const folder = mkdtempSync(join(tmpdir(), 'makerbook-bounds-'));
afterAll(() => rmSync(folder, { recursive: true }));

const proofs = parse(readText(`${RULES_FOLDER}/causes.test.yaml`)) as { tests: { name: string }[] };
const alerts = readRulesFile('causes')
  .groups.flatMap(({ rules }) => rules)
  .filter((rule): rule is AlertingRule => 'alert' in rule);

/** Returns copies of the expression with one bound in a wrong unit: a thousand times too large, or too small. */
function misplace(expr: string): string[] {
  return [...expr.matchAll(/([<>]=?|[!=]=)\s*(\d+(?:\.\d+)?)/g)].flatMap(({ 0: text, 2: bound = '', index }) => {
    const at = index + text.length - bound.length;
    const others = Number(bound) === 0 ? [] : [Number(bound) * 1000, Number(bound) / 1000];
    return others.map((other) => `${expr.slice(0, at)}${other.toFixed(5)}${expr.slice(at + bound.length)}`);
  });
}

/** Writes the two tests of an alert, and its rule alone. @returns the name of the test file */
function write(name: string, { alert, expr, labels, annotations, ...rule }: AlertingRule): string {
  const rules = [{ alert, expr, labels, annotations, ...rule }];
  writeFileSync(join(folder, `${name}.rules.yaml`), JSON.stringify({ groups: [{ name, rules }] }));
  const tests = proofs.tests.filter((proof) => proof.name.startsWith(`${alert} `));
  const file = `${name}.test.yaml`;
  writeFileSync(join(folder, file), JSON.stringify({ ...proofs, rule_files: [`${name}.rules.yaml`], tests }));
  return file;
}

/** @returns whether Prometheus passes the tests of each file, keyed by file */
function judge(files: readonly string[]): ReadonlyMap<string, boolean> {
  // promtool writes failures to standard error. Keep them between the lines that name the files.
  const command = ['-c', 'exec promtool test rules "$@" 2>&1', 'sh', ...files];
  const { stdout } = spawnSync('sh', command, { cwd: folder, encoding: 'utf8' });
  const judged = stdout.split('Unit Testing:').slice(1);
  return new Map(judged.map((part) => [part.trim().split(/\s/, 1)[0] ?? '', !part.includes('FAILED')]));
}

describeIfPromtool('Prometheus itself', () => {
  test('proves each alert, and notices each bound that is written in the wrong unit', () => {
    const right = alerts.map((rule) => write(rule.alert, rule));
    expect([...judge(right)].filter(([, holds]) => !holds)).toEqual([]);
    const wrong = alerts.flatMap((rule) =>
      misplace(rule.expr).map((expr, n) => [write(`${rule.alert}-${n}`, { ...rule, expr }), expr] as const),
    );
    expect(wrong.length).toBeGreaterThan(30);
    const judged = judge(wrong.map(([file]) => file));
    expect(judged.size).toBe(wrong.length);
    expect(wrong.filter(([file]) => judged.get(file))).toEqual([]);
  });

  test('proves the objectives', () => {
    const args = [new URL('./test-with-promtool.js', import.meta.url).pathname];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    expect(`${status} ${stdout}${stderr}`).toMatch(/^0 /);
  });
});
