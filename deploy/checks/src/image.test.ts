import { readdirSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { readText, root } from './read-manifests.js';

const dockerfile = readText('deploy/docker/Dockerfile');
/** The lines of each stage, keyed by its name. */
const stages = new Map(
  dockerfile
    .split(/^FROM /m)
    .slice(1)
    .map((stage) => {
      const [head = '', ...lines] = stage.split('\n');
      const [base = '', , name = ''] = head.split(' ');
      return [name, { base, lines }] as const;
    }),
);

describe('the Dockerfile', () => {
  test('has an image of every service', () => {
    for (const service of readdirSync(`${root}services`)) {
      expect(stages.get(service)?.base).toBe('runtime');
      expect(stages.get(service)?.lines.join('\n')).toContain(`/app/services/${service}/dist/main.js`);
    }
  });

  test('runs the version of Node.js that the project is tested with', () => {
    const { optionalDependencies } = JSON.parse(readText('package.json')) as {
      optionalDependencies: Record<string, string>;
    };
    for (const [name, version] of Object.entries(optionalDependencies))
      expect([name, dockerfile]).toEqual([name, expect.stringContaining(`docker.io/library/node:${version}-`)]);
  });

  test.each(['docker/Dockerfile', 'docker/assemble.sh', 'compose/compose.yaml'])(
    'is built for every processor by the same lines, as %s names none',
    (file) => expect(readText(`deploy/${file}`)).not.toMatch(/\b(x64|x86_64|amd64|arm64|aarch64)\b/),
  );

  test('puts only Node.js, an init process and the service into an image that does not run as root', () => {
    const runtime = stages.get('runtime')?.lines ?? [];
    expect(runtime.filter((line) => /^(RUN|ADD)/.test(line))).toEqual([]);
    expect(runtime).toContain('USER 65532:65532');
    for (const [name, { base, lines }] of stages) {
      if (base !== 'runtime') continue;
      expect(lines.filter((line) => /^(RUN|ADD|USER)/.test(line))).toEqual([]);
      expect(lines.filter((line) => line.startsWith('COPY'))).toEqual([`COPY --from=${name}-files /app /app`]);
    }
  });
});
