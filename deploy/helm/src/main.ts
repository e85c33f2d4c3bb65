import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { makeFolderOrRefuse, readWords, refuseWords } from '@makerbook/settings';
import { makeChart } from './make-chart.js';

const USAGE = `npm run chart [-- <folder>]
  makes the Helm chart of the overlays production and small as they are, in the folder, or else in chart/ of MAKERBOOK_DATA
  (.local unless given). Needs kubectl or kustomize.`;
const {
  positionals: [folder = `${process.env['MAKERBOOK_DATA'] ?? '.local'}/chart`, ...more],
} = readWords(USAGE, {});
if (more.length > 0) refuseWords(`one folder is needed, and not \`${more.join(' ')}\` too`);
const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  version: string;
};
const into = resolve(folder);
makeFolderOrRefuse(into);
rmSync(join(into, 'templates'), { recursive: true, force: true });
for (const [file, content] of makeChart(version)) {
  mkdirSync(dirname(join(into, file)), { recursive: true });
  writeFileSync(join(into, file), content);
}
console.log(into);
