import { writeFileSync } from 'node:fs';
import { makeVectors } from './testing/make-vectors.js';

// One vector a line.
const lines = makeVectors().map((vector) => JSON.stringify(vector));
writeFileSync(new URL('../vectors.json', import.meta.url), `[\n${lines.join(',\n')}\n]\n`);
