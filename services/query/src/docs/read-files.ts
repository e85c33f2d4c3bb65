import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const { resolve } = createRequire(import.meta.url);

export const readText = (path: string) => readFileSync(path, 'utf8');

/** The path of a file of this package. */
export const own = (path: string) => join(import.meta.dirname, '../..', path);

/** The folder of the module that a package's name resolves to, or a path relative to that folder. */
export const beside = (name: string, path = '') => join(dirname(resolve(name)), path);
