import { execFileSync } from 'node:child_process';
import { join, resolve } from 'node:path';
import { makeFolderOrRefuse, readWords, refuseWords } from '@makerbook/settings';
import { buildPackage, publishedPackages } from './build-package.js';

const USAGE = `npm run packages [-- <folder>]
  builds and packs what makers and routers install, into the folder, or else into packages/ of MAKERBOOK_DATA (.local unless given)`;
const {
  positionals: [folder = `${process.env['MAKERBOOK_DATA'] ?? '.local'}/packages`, ...more],
} = readWords(USAGE, {});
if (more.length > 0) refuseWords(`one folder is needed, and not \`${more.join(' ')}\` too`);
const into = resolve(folder);
makeFolderOrRefuse(into);
for (const workspace of publishedPackages) {
  const built = join(into, workspace);
  await buildPackage(workspace, built);
  const packed = execFileSync('npm', ['pack', '--silent', '--pack-destination', into], {
    cwd: built,
    encoding: 'utf8',
  });
  console.log(join(into, packed.trim()));
}
