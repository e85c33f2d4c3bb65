import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { findRenderer, nameOf, parseManifests, readText, renderOverlay, root } from './read-manifests.js';
import { validateManifest } from './validate-manifest.js';

/** Fenced commands of a document. `marking` is the text after the language of the opening fence. */
interface Fence {
  readonly document: string;
  readonly line: number;
  readonly marking: string;
  readonly commands: string;
}

const folder = mkdtempSync(join(tmpdir(), 'makerbook-commands-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const documents = readdirSync(`${root}deploy`, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.md') && !/node_modules|\/target\//.test(path))
  .map((path) => `deploy/${path}`);
const fences = documents.flatMap((document) => {
  const text = readText(document);
  return [...text.matchAll(/^( *)```(\w*) ?(.*)\n((?:.*\n)*?)\1```$/gm)].map(
    ([, , , marking = '', commands = '', ...rest]): Fence => {
      const line = text.slice(0, Number(rest[0])).split('\n').length;
      return { document, line, marking, commands };
    },
  );
});
const unmarked = fences.filter(({ document, marking }) => {
  const [, test] = /^tried by (\S+)$/.exec(marking) ?? [];
  // The test that tries the commands must read them from the document.
  if (test !== undefined) return !existsSync(root + test) || !readText(test).includes(document);
  return !/^not run: \S+/.test(marking);
});

test('fenced commands are tried by a test that reads them, or say why they are not run', () => {
  expect(fences.length).toBeGreaterThan(10);
  expect(unmarked.map(({ document, line }) => `${document}:${line}`)).toEqual([]);
});

/** Returns the commands of a document that this file tries. */
const triedIn = (
  document: 'deploy/k8s/README.md' | 'deploy/runbooks/operations.md' | 'deploy/compose/README.md',
): string =>
  fences
    .filter((fence) => fence.document === document && fence.marking === 'tried by deploy/checks/src/commands.test.ts')
    .map(({ commands }) => commands)
    .join('');

function run(script: string, variables: Record<string, string> = {}, cwd = root) {
  const env = { PATH: `${folder}:${process.env['PATH']}`, ...variables };
  return spawnSync('sh', ['-ec', script], { cwd, env, encoding: 'utf8' });
}

test('every operator command in the documents exists', async () => {
  const { parseCommand } = (await import(`${root}services/operator/dist/parse-command.js`)) as {
    parseCommand: (words: readonly string[]) => object;
  };
  const inline = documents.flatMap((document) =>
    [...readText(document).matchAll(/`operator ((?:makers|parked|log|topics|migrate|doctor)[^`…]*)`/g)].map(
      ([, words]) => `operator ${words}`,
    ),
  );
  const script = [triedIn('deploy/runbooks/operations.md').replaceAll('0x…', `0x${'1'.repeat(40)}`), ...inline];
  const { stdout } = run(`operator() { printf '%s\\n' "$@"; echo; }\n${script.join('\n')}`);
  const commands = stdout.trim().split('\n\n');
  expect(commands.length).toBeGreaterThan(8);
  const wrong = commands.map((words) => [words, parseCommand(words.split('\n'))] as const);
  expect(wrong.filter(([, command]) => 'wrong' in command)).toEqual([]);
});

test('a command that sets an annotation overwrites an existing one', () => {
  const set = documents.flatMap(
    (document) => readText(document).match(/kubectl [^`\n]*annotate [^`\n]*=[^`\n]*/g) ?? [],
  );
  expect(set.length).toBeGreaterThan(1);
  expect(set.filter((command) => !command.includes('--overwrite'))).toEqual([]);
});

const testIfRenderer = findRenderer() === undefined ? test.skip : test;

testIfRenderer('every object that a kubectl command names is in the overlay', () => {
  const kinds: Readonly<Record<string, string>> = {
    deploy: 'Deployment',
    cronjob: 'CronJob',
    job: 'Job',
    scaledobject: 'ScaledObject',
    kafkatopic: 'KafkaTopic',
    cluster: 'Cluster',
    kafka: 'Kafka',
  };
  const named = documents.flatMap((document) =>
    [...readText(document).matchAll(/kubectl -n makerbook [^`\n]*/g)].flatMap(([command]) =>
      [...command.matchAll(/(?<= )([a-z]+)[/ ]([a-z][a-z0-9.-]+)(?= |$)/g)].flatMap(([, kind = '', name]) =>
        kind in kinds ? [`${kinds[kind]} ${name}`] : [],
      ),
    ),
  );
  // Only the small overlay has the Job `topics`.
  const there = ['Job topics', ...renderOverlay('production').map(nameOf)];
  expect(new Set(named).size).toBeGreaterThan(8);
  expect(named.filter((name) => !there.includes(name))).toEqual([]);
});

test('the trial with Compose gives each variable that compose.yaml requires', () => {
  writeFileSync(join(folder, 'docker'), '#!/bin/sh\necho "$@"\n', { mode: 0o755 });
  mkdirSync(join(folder, 'deploy', 'compose'), { recursive: true });
  const commands = triedIn('deploy/compose/README.md').replaceAll('0x…', '0x1');
  const { status, stdout } = run(commands, {}, folder);
  expect([status, stdout]).toEqual([
    0,
    expect.stringMatching(/^compose -f \S+ up --build --wait\ncompose .*makers add 0x1\n$/),
  ]);
  const given = readFileSync(join(folder, 'deploy/compose/.env'), 'utf8').matchAll(/^(\w+)=\S/gm);
  const required = readText('deploy/compose/compose.yaml').matchAll(/\$\{(\w+):\?/g);
  const names = (found: Iterable<RegExpMatchArray>) => [...new Set([...found].map(([, name]) => name))].sort();
  expect(names(given)).toEqual(names(required));
});

describe('the first install, on a stand-in for a cluster that knows its namespaces', () => {
  /** Like an API server, makes nothing in a namespace that does not exist. */
  const requireNamespaces = `for name in $needed; do
  [ -e "$CLUSTER/$name" ] || { echo "namespaces \\"$name\\" not found" >&2; exit 1; }
done`;
  const programs = {
    helm: `case "$*" in *watchNamespaces=*) needed=$(printf %s "$*" | sed 's/.*watchNamespaces={\\([^}]*\\)}.*/\\1/; s/,/ /g') ;; esac
${requireNamespaces}
while [ $# -gt 0 ]; do [ "$1" = -n ] && touch "$CLUSTER/$2"; shift; done`,
    kubectl: `[ "$1" = -n ] && needed=$2 && shift 2
${requireNamespaces}
case "$*" in
'apply -f -') cat >>"$CLUSTER/.applied" ;;
'apply -f deploy/k8s/base/namespace.yaml') touch "$CLUSTER/$(sed -n 's/^  name: //p' "$3")" ;;
'apply -k deploy/k8s/overlays/production') [ -e "$CLUSTER/makerbook" ]; touch "$CLUSTER/.released" ;;
'get secret '*) exit 1 ;;
'create secret '* | 'label --overwrite secret '* | 'delete job migrate topics --ignore-not-found') ;;
'rollout status deploy -l app.kubernetes.io/part-of=makerbook --timeout=900s') [ -e "$CLUSTER/.released" ] ;;
*) echo "what is $*?" >&2; exit 9 ;;
esac`,
  };
  for (const [name, program] of Object.entries(programs))
    writeFileSync(join(folder, name), `#!/bin/sh\nset -e\n${program}\n`, { mode: 0o755 });
  const cluster = join(folder, 'cluster');
  mkdirSync(cluster);
  writeFileSync(join(folder, 'file'), `0x${'1'.repeat(64)}`);
  const commands = triedIn('deploy/k8s/README.md').replaceAll('FILE=…', `FILE=${folder}/file`);

  test('ends with every Deployment rolled out, and applies only valid objects', async () => {
    const { status, stderr } = run(commands, { CLUSTER: cluster });
    expect([status, stderr]).toEqual([0, '']);
    const applied = readFileSync(join(cluster, '.applied'), 'utf8');
    // kubectl would take a document that begins like this for JSON.
    expect(applied).not.toMatch(/^\s*\{/);
    for (const manifest of parseManifests(applied)) expect(await validateManifest(manifest)).toEqual([]);
  });
});
