#!/usr/bin/env node
import { existsSync, readFileSync } from 'node:fs';
import { runCommand } from './command/run-command.js';

/** package.json is beside this file in the published package, and above it in a build. */
const [manifest] = ['package.json', '../package.json'].map((path) => new URL(path, import.meta.url)).filter(existsSync);

// The reader of the output may stop early: `makerbook list | head`.
process.stdout.on('error', () => process.exit(0));
process.exitCode = await runCommand(process.argv.slice(2), {
  environment: process.env,
  print: console.log,
  complain: console.error,
  version: manifest === undefined ? 'unknown' : JSON.parse(readFileSync(manifest, 'utf8')).version,
});
