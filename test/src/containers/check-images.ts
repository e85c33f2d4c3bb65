import { readFileSync } from 'node:fs';
import { readOptions } from '@makerbook/settings';
import { findRoot } from '../conformance/find-root.js';
import { buildImage, imageOf, images, podman, removeImages, requirePrograms } from './podman.js';

const USAGE = `npm run images:check -- [--tag T]
  builds the six images, checks what is in them, prints a table, and removes them; exits with 1 where something is wrong.
  How they run is checked by pods:check. --tag: images that exist, which are neither built nor removed. Needs podman, on Linux.`;
const { values } = readOptions(USAGE, { tag: { type: 'string' } });
requirePrograms('podman');
const tag = values.tag ?? `check-${process.pid}`;
const root = findRoot();
const HARDENED = ['--read-only', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges', '--network', 'host'];
const faults: string[] = [];
let lock: { packages: Record<string, { dev?: boolean }> } | undefined;
const rows = new Map<string, Record<string, string | number>>(images.map((service) => [service, {}]));

const note = (service: string, found: Record<string, string | number>) => Object.assign(rows.get(service) ?? {}, found);
const fault = (service: string, what: string) => faults.push(`${service}: ${what}`);

try {
  if (values.tag === undefined) {
    for (const service of images) note(service, { 'build s': Math.round(await buildImage(service, tag, root)) });
  }
  for (const service of images) await checkContent(service);
} finally {
  if (values.tag === undefined) await removeImages(tag);
}
console.table(Object.fromEntries(rows));
for (const line of faults) console.log(`wrong: ${line}`);
process.exit(faults.length === 0 ? 0 : 1);

/** Checks the image's metadata, and the content of its file system. */
async function checkContent(service: string): Promise<void> {
  const [image] = JSON.parse(await podman('inspect', imageOf(service, tag))) as [
    { Size: number; Config: { User: string; StopSignal: string; Labels: Record<string, string> } },
  ];
  const { User, StopSignal, Labels } = image.Config;
  if (User !== '65532:65532') fault(service, `its user is ${User}`);
  if (StopSignal !== 'SIGTERM') fault(service, `its stop signal is ${StopSignal}`);
  for (const label of ['title', 'description', 'vendor', 'licenses', 'version', 'revision', 'created']) {
    const value = Labels[`org.opencontainers.image.${label}`];
    if (value === undefined || ['', 'unknown', '0.0.0'].includes(value))
      fault(service, `its label ${label} is ${value}`);
  }
  const script = `
    const fs = require('fs');
    const files = fs.readdirSync('/app', { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    const packages = files.filter(({ name, parentPath }) => name === 'package.json' && /node_modules\\/(@[^/]+\\/)?[^/]+$/.test(parentPath));
    console.log(JSON.stringify({
      bytes: files.reduce((sum, { name, parentPath }) => sum + fs.statSync(parentPath + '/' + name).size, 0),
      packages: packages.map(({ parentPath }) => parentPath.replace(/.*node_modules\\//, '')),
      sources: files.map(({ name, parentPath }) => parentPath + '/' + name).filter((name) => /\\.(ts|map)$|\\.test\\.js$|\\/testing\\//.test(name) && !name.includes('/node_modules/')),
      own: files.filter(({ name, parentPath }) => fs.statSync(parentPath + '/' + name).uid !== 0).length,
      sbom: fs.existsSync('/app/sbom.cdx.json'),
      npm: ['/usr/local/bin/npm', '/usr/local/lib/node_modules'].some((path) => fs.existsSync(path)),
    }));`;
  const node = ['--rm', '--entrypoint', '/usr/local/bin/node', ...HARDENED, imageOf(service, tag)];
  const found = JSON.parse(await podman('run', ...node, '-e', script)) as {
    bytes: number;
    packages: string[];
    sources: string[];
    own: number;
    sbom: boolean;
    npm: boolean;
  };
  const development = found.packages.filter((name) => isForDevelopment(name));
  if (development.length > 0) fault(service, `it has packages for development: ${development}`);
  if (found.sources.length > 0) fault(service, `it has ${found.sources.length} sources or tests: ${found.sources[0]}`);
  if (found.own > 0) fault(service, `${found.own} files do not belong to root`);
  if (!found.sbom) fault(service, 'it has no sbom.cdx.json');
  if (found.npm) fault(service, 'it has npm');
  note(service, {
    'image MB': Math.round(image.Size / 1e6),
    'app MB': Math.round(found.bytes / 1e5) / 10,
    packages: found.packages.length,
  });
}

/** True if the lock file holds a package only for development, at every path. */
function isForDevelopment(name: string): boolean {
  lock ??= JSON.parse(readFileSync(`${root}/package-lock.json`, 'utf8')) as typeof lock;
  const entries = Object.entries(lock?.packages ?? {}).filter(([path]) => path.endsWith(`node_modules/${name}`));
  return entries.length > 0 && entries.every(([, { dev }]) => dev === true);
}
