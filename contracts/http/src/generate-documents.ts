import { writeFileSync } from 'node:fs';
import { assembleOpenApi } from './testing/assemble-openapi.js';
import { makeVectors } from './testing/make-vectors.js';

const at = (name: string) => new URL(`../${name}`, import.meta.url);
writeFileSync(at('openapi.json'), `${JSON.stringify(assembleOpenApi(), null, 2)}\n`);
writeFileSync(at('vectors.json'), `${JSON.stringify(makeVectors(), null, 2)}\n`);
