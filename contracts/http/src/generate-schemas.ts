import { mkdirSync, writeFileSync } from 'node:fs';
import { jsonSchemas } from './schemas.js';

const folder = new URL('../schema/', import.meta.url);
mkdirSync(folder, { recursive: true });
for (const [name, schema] of Object.entries(jsonSchemas())) {
  writeFileSync(new URL(`${name}.schema.json`, folder), `${JSON.stringify(schema, null, 2)}\n`);
}
