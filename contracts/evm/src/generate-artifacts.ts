import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { compileSources, renderArtifacts } from './compile-sources.js';

// Runs from dist/: `npm run generate -w @makerbook/contracts-evm`.
const artifacts = fileURLToPath(new URL('../src/artifacts/', import.meta.url));
const files = renderArtifacts(compileSources(fileURLToPath(new URL('../sol/', import.meta.url))));

mkdirSync(artifacts, { recursive: true });
for (const stale of readdirSync(artifacts).filter((file) => !files.has(file))) rmSync(artifacts + stale);
for (const [file, text] of files) writeFileSync(artifacts + file, text);
console.log(`${files.size} files written to src/artifacts`);
