import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { readText, root } from './read-manifests.js';

const FOLDER = 'deploy/k8s';
const SUMS = 'rendered/SHA256SUMS';

test('deploy/k8s/rendered was made from the sources as they are, and not edited since', () => {
  const files = ['base', 'components', 'overlays', 'rendered']
    .flatMap((folder) =>
      readdirSync(`${root}${FOLDER}/${folder}`, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map(({ parentPath, name }) => `${parentPath}/${name}`.slice(`${root}${FOLDER}/`.length)),
    )
    .filter((file) => file !== SUMS)
    .sort();
  const sums = files.map((file) => {
    const sum = createHash('sha256').update(readText(`${FOLDER}/${file}`));
    return `${sum.digest('hex')}  ${file}`;
  });
  // If this fails: deploy/k8s/render.sh, and look at the difference.
  expect(sums).toEqual(readText(`${FOLDER}/${SUMS}`).trimEnd().split('\n'));
});
