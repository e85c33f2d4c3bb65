import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { readText } from './read-manifests.js';

const folder = mkdtempSync(join(tmpdir(), 'makerbook-functions-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Stands in for kubectl. The pod has no log at first (with WAITS: never). SUCCEEDED says how the Job ends. */
const kubectl = `#!/bin/sh
case "$*" in
*' create job '*) printf '{"kind":"Job","metadata":{"name":"a","ownerReferences":[{}]},"from":"%s","spec":{"template":{"spec":{"containers":[{"args":["old"],"image":"as released"}],"volumes":[{"name":"kafka","projected":{"sources":[{"secret":{"name":"kafka-reader"}}]}}]}}}}' "$6" ;;
'apply -f -') cat >job.json ;;
*' logs -f job/'*) [ -n "$WAITS" ] && exit 1; [ -e asked ] && echo 'what the command says' || { touch asked; exit 1; } ;;
*' get pods -l job-name=operator-'*) echo ImagePullBackOff ;;
*' get pods -l app.kubernetes.io/name=query -o name') printf 'pod/query-a\\npod/query-b\\n' ;;
*' exec pod/query-'*' -- node -e fetch('*) echo "$4 is ready" ;;
*' logs -l app.kubernetes.io/name=query --ignore-errors --tail=-1 --since=10m') cat lines ;;
*' get pod -l cnpg.io/cluster=postgres,cnpg.io/instanceRole=primary -o name') echo pod/postgres-2 ;;
*' exec pod/postgres-2 -c postgres -- psql makerbook -c '*) printf %s "\${11}" ;;
*' wait '*) ;;
*' get job '*) printf %s "$SUCCEEDED" ;;
*) exit 9 ;;
esac
`;
writeFileSync(join(folder, 'kubectl'), kubectl, { mode: 0o755 });
writeFileSync(join(folder, 'sleep'), '#!/bin/sh\n', { mode: 0o755 });
const [, functions = ''] = /```sh .+\n(release\(\).+?)```/s.exec(readText('deploy/runbooks/README.md')) ?? [];

function run(command: string, variables: Record<string, string> = {}) {
  const env = { PATH: `${folder}:${process.env['PATH']}`, ...variables };
  return spawnSync('sh', ['-c', `${functions}\n${command}`], { cwd: folder, env, encoding: 'utf8' });
}

function operator(words: string, succeeded: string, { image, waits }: { image?: string; waits?: boolean } = {}) {
  rmSync(join(folder, 'asked'), { force: true });
  const { status, stdout } = run(`operator ${words}`, {
    SUCCEEDED: succeeded,
    WAITS: waits ? 'on' : '',
    ...(image !== undefined && { IMAGE: image }),
  });
  const job = JSON.parse(readFileSync(join(folder, 'job.json'), 'utf8')) as {
    metadata: object;
    from: string;
    spec: { template: { spec: { containers: { args: string[]; image: string }[]; volumes: object[] } } };
  };
  const { containers, volumes } = job.spec.template.spec;
  return { status, stdout, from: job.from, metadata: job.metadata, volumes, ...containers[0] };
}

const hasJq = spawnSync('jq', ['--version']).error === undefined;
if (!hasJq) console.warn("SKIPPED: the check of the runbooks' shell functions. It needs jq on the PATH.");
const describeFunction = hasJq ? describe : describe.skip;

describeFunction('the shell functions of the runbooks', () => {
  test.each([
    [
      "makers suspend 0x1 --reason 'key reported'",
      'operator',
      ['makers', 'suspend', '0x1', '--reason', 'key reported'],
    ],
    ['verify', 'replay', ['verify']],
    ['doctor --json', 'doctor', ['doctor', '--json']],
    ['rebuild', 'replay', ['rebuild']],
    ['salvage', 'replay', ['salvage']],
    ['log verify /archive', 'log-verify', ['log', 'verify', '/archive']],
    ['log restore /archive', 'log-verify', ['log', 'restore', '/archive']],
  ])('operator %s runs as a Job of %s with these words, and shows its output', (words, cronJob, args) => {
    const { from, image, metadata, volumes: _, ...ran } = operator(words, '1');
    // The CronJob must not own the Job: its limits would delete the Job with its log.
    expect(metadata).toEqual({ name: 'a' });
    expect(image).toBe('as released');
    expect(ran).toEqual({ status: 0, stdout: expect.stringContaining('what the command says'), args });
    expect(from).toBe(`--from=cronjob/${cronJob}`);
  });

  test('salvage and log restore run as kafka-operator, and commands that only read as kafka-reader', () => {
    const userOf = (words: string) => /kafka-\w+/.exec(JSON.stringify(operator(words, '1').volumes))?.[0];
    expect(['verify', 'log verify /archive'].map(userOf)).toEqual(['kafka-reader', 'kafka-reader']);
    expect(['salvage', 'log restore /archive'].map(userOf)).toEqual(['kafka-operator', 'kafka-operator']);
  });

  test('operator runs another release if IMAGE names one', () => {
    expect(operator('verify', '1', { image: 'next' })).toMatchObject({ image: 'next', args: ['verify'] });
  });

  test('operator shows a pod that does not start, and ends with 1', () => {
    const { status, stdout } = operator('makers list', '', { waits: true });
    expect({ status, stdout }).toEqual({ status: 1, stdout: expect.stringMatching(/ImagePullBackOff\n$/) });
  });

  test('operator ends with 1 if the command was refused', () => {
    expect(operator('makers list', '').status).toBe(1);
  });

  test('readyz asks each pod of a service', () => {
    expect(run('readyz query')).toMatchObject({ status: 0, stdout: 'pod/query-a is ready\npod/query-b is ready\n' });
  });

  test('sql asks the primary of Postgres', () => {
    expect(run("sql 'select 1; select 2'")).toMatchObject({ status: 0, stdout: 'select 1; select 2' });
  });

  test('logs leaves out info lines, and keeps lines that the logger did not write', () => {
    const lines = ['{"level":"info","msg":"a"}', '{"level":"error","msg":"b"}', 'FATAL ERROR: heap out of memory'];
    writeFileSync(join(folder, 'lines'), `${lines.join('\n')}\n`);
    const { status, stdout } = run('logs query --since=10m');
    expect({ status, stdout }).toEqual({ status: 0, stdout: `${lines[1]}\n"${lines[2]}"\n` });
  });
});
