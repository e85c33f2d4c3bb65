import { globSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { readText, root } from './read-manifests.js';

const exclude = (name: string) => /^(node_modules|target|dist|\..*)$/.test(name);
const files = globSync('**/*.{ts,mjs,sh}', { cwd: root, exclude });
const isComment = (line: string, file: string) => (file.endsWith('.sh') ? /^\s*#/ : /^\s*(\/\*\*|\* |\/\/)/).test(line);

test('no comment is longer than 120 columns, unless it holds a URL', () => {
  const long = files.flatMap((file) =>
    readText(file)
      .split('\n')
      .flatMap((line, at) => {
        const isLong = line.length > 120 && isComment(line, file) && !/https?:\/\//.test(line);
        return isLong ? [`${file}:${at + 1}`] : [];
      }),
  );
  expect(files.length).toBeGreaterThan(900);
  expect(long).toEqual([]);
});
