import { existsSync, globSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from '@jest/globals';
import { readText, root } from './read-manifests.js';

const documents = globSync('**/*.md', { cwd: root, exclude: (name) => /^(node_modules|target|dist|\..*)$/.test(name) });
const proseOf = (file: string) => readText(file).replace(/```.*?```/gs, '');

/** Returns the anchor that GitHub gives a heading. Of a link in the heading, only the words count. */
const anchorOf = (heading: string) =>
  heading
    .replace(/\]\([^)]*\)/g, '')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_ -]/gu, '')
    .replaceAll(' ', '-');
const anchorsOf = (file: string) =>
  [...proseOf(file).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => anchorOf(heading));

test('every link between documents leads to an existing file and heading', () => {
  const broken = documents.flatMap((file) =>
    [...proseOf(file).matchAll(/\]\((?!https?:|\/|\{)([^)\s#]*)#?([^)\s]*)\)/g)].flatMap(
      ([link, path = '', anchor]) => {
        const target = path === '' ? file : join(dirname(file), path);
        if (!existsSync(join(root, target))) return [`${file}: ${link}`];
        const isThere = !anchor || !target.endsWith('.md') || anchorsOf(target).includes(anchor);
        return isThere ? [] : [`${file}: ${link}`];
      },
    ),
  );
  expect(broken).toEqual([]);
});
