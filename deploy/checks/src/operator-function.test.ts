import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { readText } from './read-manifests.js';

const folder = mkdtempSync(join(tmpdir(), 'makerbook-operator-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Stands in for kubectl and its cluster: the pod has no log at first, and the Job ends as SUCCEEDED says. */
const kubectl = `#!/bin/sh
case "$*" in
*' create job '*) printf '{"kind":"Job","from":"%s","spec":{"template":{"spec":{"containers":[{"args":["old"],"image":"as released"}]}}}}' "$6" ;;
'apply -f -') cat >job.json ;;
*' logs -f job/'*) [ -e asked ] && echo 'what the command says' || { touch asked; exit 1; } ;;
*' wait '*) ;;
*' get job '*) printf %s "$SUCCEEDED" ;;
*) exit 9 ;;
esac
`;
writeFileSync(join(folder, 'kubectl'), kubectl, { mode: 0o755 });
const [, functions = ''] = /```\n(release\(\).+?)```/s.exec(readText('deploy/runbooks/README.md')) ?? [];

function operator(words: string, succeeded: string, image?: string) {
  rmSync(join(folder, 'asked'), { force: true });
  const env = {
    PATH: `${folder}:${process.env['PATH']}`,
    SUCCEEDED: succeeded,
    ...(image !== undefined && { IMAGE: image }),
  };
  const { status, stdout } = spawnSync('sh', ['-c', `${functions}\noperator ${words}`], {
    cwd: folder,
    env,
    encoding: 'utf8',
  });
  const job = JSON.parse(readFileSync(join(folder, 'job.json'), 'utf8')) as {
    from: string;
    spec: { template: { spec: { containers: { args: string[]; image: string }[] } } };
  };
  return { status, stdout, from: job.from, ...job.spec.template.spec.containers[0] };
}

const hasJq = spawnSync('jq', ['--version']).error === undefined;
if (!hasJq) console.warn("SKIPPED: the check of the runbooks' shell function. It needs jq on the PATH.");
const describeFunction = hasJq ? describe : describe.skip;

describeFunction('the shell function of the runbooks', () => {
  test.each([
    [
      "makers suspend 0x1 --reason 'key reported'",
      'operator',
      ['makers', 'suspend', '0x1', '--reason', 'key reported'],
    ],
    ['verify', 'replay', ['verify']],
    ['rebuild', 'replay', ['rebuild']],
    ['log verify /archive', 'log-archive', ['log', 'verify', '/archive']],
  ])('operator %s is a Job of %s with these words, and shows what it says', (words, cronJob, args) => {
    const { from, image, ...ran } = operator(words, '1');
    expect(image).toBe('as released');
    expect(ran).toEqual({ status: 0, stdout: expect.stringContaining('what the command says'), args });
    expect(from).toBe(`--from=cronjob/${cronJob}`);
  });

  test('IMAGE has it run another release', () => {
    expect(operator('verify', '1', 'next')).toMatchObject({ image: 'next', args: ['verify'] });
  });

  test('ends with 1 where the command was refused', () => {
    expect(operator('makers list', '').status).toBe(1);
  });
});
