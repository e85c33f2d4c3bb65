import { execFileSync } from 'node:child_process';
import { join, resolve } from 'node:path';
import { buildPackage, publishedPackages } from './build-package.js';

const into = resolve(process.argv[2] ?? `${process.env['MAKERBOOK_DATA'] ?? '.local'}/packages`);
for (const workspace of publishedPackages) {
  const folder = join(into, workspace);
  await buildPackage(workspace, folder);
  const packed = execFileSync('npm', ['pack', '--silent', '--pack-destination', into], {
    cwd: folder,
    encoding: 'utf8',
  });
  console.log(join(into, packed.trim()));
}
