import { existsSync, readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from '@jest/globals';
import { readText, root } from '../read-manifests.js';

const folder = 'deploy/runbooks';
const pages = readdirSync(join(root, folder)).filter((name) => name.endsWith('.md'));

/** The anchor that a heading gets where the repository is browsed. */
const anchorOf = (heading: string) =>
  heading
    .toLowerCase()
    .replaceAll(/[^\w\- ]/g, '')
    .replaceAll(' ', '-');

test.each(pages)('every link of %s leads to a file, and to a heading that it has', (page) => {
  const broken = [...readText(`${folder}/${page}`).matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, link = '']) => {
    const [path = '', anchor] = link.split('#');
    const file = path === '' ? `${folder}/${page}` : join(dirname(`${folder}/${page}`), path);
    if (!existsSync(join(root, file))) return [link];
    if (anchor === undefined || statSync(join(root, file)).isDirectory()) return [];
    const anchors = [...readText(file).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => anchorOf(heading));
    return anchors.includes(anchor) ? [] : [link];
  });
  expect(broken).toEqual([]);
});

test.each(pages)('%s names no setting that there is not', (page) => {
  const services = ['ingress', 'query', 'projector', 'chain-watcher', 'operator'].map((name) => `services/${name}`);
  const known = ['shared/settings', ...services].map((described) => readText(`${described}/README.md`)).join('\n');
  const named = [...readText(`${folder}/${page}`).matchAll(/`([A-Z]+(?:_[A-Z]+)+)`/g)].map(([, name = '']) => name);
  expect(named.filter((name) => !known.includes(`| \`${name}\` `))).toEqual([]);
});
