import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';

const NAMES = ['homi', 'kcn', 'kpn', 'ken'] as const;

/** The programs of a Kaia release: their paths, and the version that they print, such as `v2.2.1`. */
export interface Programs {
  readonly version: string;
  readonly path: Readonly<Record<(typeof NAMES)[number], string>>;
}

/** @throws Error naming everything that is missing, or nodes of several releases */
export function findPrograms(folder: string): Programs {
  if (folder === '') throw new Error(`KAIA_BIN is missing: name the folder of a Kaia release's ${NAMES.join(', ')}`);
  const path = Object.fromEntries(NAMES.map((name) => [name, join(resolve(folder), name)])) as Programs['path'];
  const missing = NAMES.filter((name) => !existsSync(path[name]));
  if (missing.length > 0) throw new Error(`${folder} (KAIA_BIN) has no ${missing.join(', no ')}`);
  const versions = [path.kcn, path.kpn, path.ken].map(versionOf);
  const [version = ''] = versions;
  if (new Set(versions).size > 1) throw new Error(`kcn, kpn and ken are of several releases: ${versions.join(', ')}`);
  return { version, path };
}

function versionOf(program: string): string {
  let told: string;
  try {
    told = execFileSync(program, ['version'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  } catch (error) {
    throw new Error(`${program} does not run here`, { cause: error });
  }
  const version = /v\d+\.\d+\.\d+\S*/.exec(told)?.[0];
  if (version === undefined) throw new Error(`${program} does not tell its version: ${told.trim()}`);
  return version;
}
