import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { makeFolderOrRefuse, readWords, refuseWords } from '@makerbook/settings';
import { buildPackage, publishedPackages } from './build-package.js';

const USAGE = `npm run packages [-- <folder>]
  builds and packs what makers and routers install, into the folder, or else into packages/ of MAKERBOOK_DATA (.local unless given);
  the package for Python too, if python3 has the packages build and hatchling`;
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

if (spawnSync('python3', ['-c', 'import build, hatchling']).status === 0) {
  const source = join(import.meta.dirname, '../../../shared/client-python');
  const words = ['-m', 'build', '--no-isolation', '--outdir', into, source];
  execFileSync('python3', words, { stdio: ['ignore', 'ignore', 'inherit'] });
  for (const name of readdirSync(into).filter((file) => /^makerbook-.*(\.whl|\.tar\.gz)$/.test(file)))
    console.log(join(into, name));
} else console.error('left out: the package for Python. `pip install build hatchling` lets python3 build it');
