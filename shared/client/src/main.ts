#!/usr/bin/env node
import { existsSync, readFileSync } from 'node:fs';
import { runCommand } from './command/run-command.js';

/** The package is beside this file where it is published, and above it where it is built. */
const [manifest] = ['package.json', '../package.json'].map((path) => new URL(path, import.meta.url)).filter(existsSync);

// Whoever reads the output may stop to do so: `makerbook list | head`.
process.stdout.on('error', () => process.exit(0));
process.exitCode = await runCommand(process.argv.slice(2), {
  environment: process.env,
  print: console.log,
  complain: console.error,
  version: manifest === undefined ? 'unknown' : JSON.parse(readFileSync(manifest, 'utf8')).version,
});
