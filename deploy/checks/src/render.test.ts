import { execFileSync, spawnSync } from 'node:child_process';
import { expect, test } from '@jest/globals';
import { overlays, readText, root } from './read-manifests.js';

const hasKubectl = spawnSync('kubectl', ['version', '--client']).status === 0;

/** Where there is no kubectl, the committed files are validated all the same; they may be older than their sources. */
test.each(hasKubectl ? overlays : [])('deploy/k8s/rendered/%s.yaml is what its sources render to', (overlay) => {
  const rendered = execFileSync('kubectl', ['kustomize', `${root}deploy/k8s/overlays/${overlay}`], {
    encoding: 'utf8',
  });
  // If this fails: deploy/k8s/render.sh, and look at the difference.
  expect(readText(`deploy/k8s/rendered/${overlay}.yaml`)).toBe(rendered);
});

if (!hasKubectl) test.todo('the rendered manifests are compared with their sources where kubectl is installed');
