import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { readText, root } from './read-manifests.js';

const file = 'deploy/k8s/overlays/production/kustomization.yaml';
const words = ['registry.example.com/makerbook', '0.2.0'];
let folder: string;
/** Stands in for a registry. It makes the digest of an image from its name. `gone` has none. */
const inspect = `#!/bin/sh
case $1 in *gone*) exit 1 ;; esac
printf sha256:%064d $(printf %s "$1" | wc -c)
`;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'makerbook-pins-'));
  writeFileSync(join(folder, 'inspect'), inspect, { mode: 0o755 });
  mkdirSync(join(folder, 'overlay'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const command = () => ({
  overlay: join(folder, 'overlay'),
  env: { PATH: process.env['PATH'], INSPECT: join(folder, 'inspect') },
});

test('the image of each service is pinned to its digest in the registry, again for the next release', () => {
  const { overlay, env } = command();
  writeFileSync(join(overlay, 'kustomization.yaml'), readText(file));
  execFileSync('sh', [`${root}deploy/k8s/pin-images.sh`, words[0] ?? '', '0.1.9', overlay], { env });
  const out = execFileSync('sh', [`${root}deploy/k8s/pin-images.sh`, ...words, overlay], { env, encoding: 'utf8' });
  const { images } = parse(readFileSync(join(overlay, 'kustomization.yaml'), 'utf8')) as {
    images: Record<string, string>[];
  };
  const lengthOf = (service: string) => `${words[0]}/${service}:${words[1]}`.length;
  const wanted = readdirSync(`${root}services`).map((service) => ({
    name: `makerbook/${service}`,
    newName: `${words[0]}/${service}`,
    digest: `sha256:${String(lengthOf(service)).padStart(64, '0')}`,
  }));
  expect(images).toEqual(expect.arrayContaining(wanted));
  expect(images).toHaveLength(wanted.length);
  expect(out.trim().split('\n')).toEqual(images.map(({ newName, digest }) => `${newName}@${digest}`));
});

test('an image that is missing from the registry leaves the overlay unchanged', () => {
  const { overlay, env } = command();
  writeFileSync(join(overlay, 'kustomization.yaml'), readText(file));
  const { status } = spawnSync(
    'sh',
    [`${root}deploy/k8s/pin-images.sh`, 'registry.example.com/gone', '0.2.0', overlay],
    {
      env,
    },
  );
  expect(status).not.toBe(0);
  expect(readFileSync(join(overlay, 'kustomization.yaml'), 'utf8')).toBe(readText(file));
});
