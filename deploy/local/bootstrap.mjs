/**
 * The entry of every command of this repository, even in a fresh clone: `node deploy/local/bootstrap.mjs <file> …`.
 * Checks that the needed tools are there, installs and builds if something has changed, and hands over to `<file>`
 * under Node.js 24. It depends on Node.js 20 alone, and prints nothing when there is nothing to do.
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const LOCK_FILE = join(ROOT, '.local', 'bootstrap.lock');
/** Path of the current libsecp256k1, in the version of the pom. */
const LIBRARY = join(ROOT, 'shared', 'signatures', 'target', 'libsecp256k1.so');
const POM = join(ROOT, 'deploy', 'parts', 'kafka', 'pom.xml');
const NODE_MIN = [20, 0];
/** From this version on, this Node.js runs everything if the optional dependency with Node.js 24 has no binary. */
const NODE_ALONE_MIN = [22, 15];
const JAVA_MIN = 17;
const PARENT_CHECK_MS = 1_000;

let isStopping = false;
/** The process that runs now. Signals go to it. */
let child;

const [given, [entry, ...words]] = readWords(process.argv.slice(2));
/** Java runs Kafka and Maven fetches it. Neither is needed if the user gives a Kafka, or asks for help alone. */
const needs = process.env.KAFKA_BROKERS || words.includes('--help') ? [] : given;
listenForOrders();
requireTools(needs);
const unlock = await lock();
try {
  await install();
  await build();
  await placeLibrary();
} finally {
  unlock();
}
await handOver(entry, words);

function readWords(given) {
  const flag = '--needs=';
  const first = given[0] ?? '';
  return first.startsWith(flag) ? [first.slice(flag.length).split(','), given.slice(1)] : [[], given];
}

/** Fails if tools are missing. Names them all at once, each with the command that installs it. */
function requireTools(tools) {
  const missing = [];
  if (!isAtLeast(process.versions.node, NODE_MIN)) {
    missing.push(
      `Node.js ${NODE_MIN[0]} or later is needed, and this is ${process.versions.node}: get it from https://nodejs.org, or with \`nvm install 24\``,
    );
  }
  if (tools.includes('java')) {
    const version = javaVersion();
    if (version === undefined || version < JAVA_MIN) {
      const found = version === undefined ? 'there is none' : `this is ${version}`;
      missing.push(
        `Java ${JAVA_MIN} or later is needed to run Kafka, and ${found}: install it, for example with \`apt-get install -y openjdk-17-jre-headless\` or \`brew install openjdk@17\``,
      );
    }
  }
  if (tools.includes('maven') && isMissing('mvn')) {
    missing.push(
      'Maven is needed to fetch Kafka, and there is none: install it, for example with `apt-get install -y maven` or `brew install maven`',
    );
  }
  if (missing.length > 0) fail(missing.join('\n'));
}

/** The major version of the `java` on the PATH. */
function javaVersion() {
  const { status, stdout, stderr } = spawnSync('java', ['-version'], { encoding: 'utf8' });
  const found = /version "(?:1\.)?(\d+)/.exec(`${stderr ?? ''}${stdout ?? ''}`);
  return status === 0 && found !== null ? Number(found[1]) : undefined;
}

async function install() {
  if (isInstalled()) return;
  say('installing the packages (npm ci)');
  const npm = process.env.npm_execpath;
  const command = npm?.endsWith('.js') ? [process.execPath, npm] : ['npm'];
  await run([...command, 'ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error'], 'npm ci failed');
}

/** True if node_modules holds exactly what the lock file says for this platform. npm keeps a record there. */
function isInstalled() {
  const wanted = readJson(join(ROOT, 'package-lock.json'))?.packages;
  const installed = readJson(join(ROOT, 'node_modules', '.package-lock.json'))?.packages;
  if (wanted === undefined || installed === undefined) return false;
  for (const [path, { version, integrity, resolved, link, optional }] of Object.entries(wanted)) {
    if (!path.startsWith('node_modules/') && !path.includes('/node_modules/')) continue;
    const found = installed[path];
    // The lock file also lists packages for other platforms.
    if (found === undefined && optional === true) continue;
    if (found === undefined || found.version !== version || found.integrity !== integrity) return false;
    if (link === true && found.resolved !== resolved) return false;
  }
  return Object.keys(installed).every((path) => path in wanted);
}

async function build() {
  const notice = setTimeout(() => say('building'), 1_500);
  await run([join(ROOT, 'node_modules', '.bin', 'tsc'), '-b'], 'the build failed', { isQuiet: true });
  clearTimeout(notice);
}

/**
 * Services can do without the library, but verify orders in two thirds of the time with it. So fetch it only if Maven
 * fetches Kafka anyway, and only on Linux: there is no library for other systems.
 */
async function placeLibrary() {
  if (!needs.includes('maven') || process.platform !== 'linux') return;
  if (existsSync(LIBRARY) && statSync(LIBRARY).mtimeMs > statSync(POM).mtimeMs) return;
  await run([findNode(), join(ROOT, 'deploy', 'local', 'dist', 'place-library.js'), LIBRARY], 'fetching failed');
}

async function handOver(file, args) {
  if (isStopping) process.exit(0);
  // The channel lets the program notice when this process is killed.
  child = spawn(findNode(), [join(ROOT, file), ...args], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
  });
  child.once('error', (error) => fail(`${file} does not start: ${error.message}`));
  child.once('exit', (code, signal) => {
    child = undefined;
    process.exit(code ?? (signal === 'SIGINT' ? 130 : 143));
  });
}

/** Finds Node.js 24 in the packages, or takes this Node.js if they have no binary. */
function findNode() {
  const node = join(ROOT, 'node_modules', '.bin', 'node');
  if (succeeds(node, ['--version'])) return node;
  if (!isAtLeast(process.versions.node, NODE_ALONE_MIN)) {
    fail(
      `the bundled Node.js 24 does not run on ${process.platform}-${process.arch}, and this is ${process.versions.node}: install Node.js 24, for example with \`nvm install 24\` or \`brew install node@24\``,
    );
  }
  return process.execPath;
}

/** Runs a step. With `isQuiet`, shows its output only if it fails. */
function run([command, ...args], failure, { isQuiet = false } = {}) {
  if (isStopping) process.exit(0);
  return new Promise((resolve) => {
    let output = '';
    child = spawn(command, args, {
      cwd: ROOT,
      stdio: ['ignore', isQuiet ? 'pipe' : 'inherit', isQuiet ? 'pipe' : 'inherit'],
    });
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (data) => {
        output += data;
      });
    }
    child.once('error', (error) => fail(`${failure}: ${error.message}`));
    child.once('close', (code) => {
      child = undefined;
      if (isStopping) process.exit(0);
      if (code !== 0) fail(`${output}${failure}`);
      resolve();
    });
  });
}

/** Passes signals on. A killed npm sends none, so this process also checks whether its parent has ended. */
function listenForOrders() {
  const order = (signal) => {
    isStopping = true;
    child?.kill(signal);
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => order(signal));
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent && !isStopping) order('SIGTERM');
  }, PARENT_CHECK_MS).unref();
}

/** Lets one command at a time install and build in a clone. Others wait. */
async function lock() {
  mkdirSync(dirname(LOCK_FILE), { recursive: true });
  for (let waits = 0; ; waits += 1) {
    try {
      writeFileSync(LOCK_FILE, String(process.pid), { flag: 'wx' });
      const release = () => rmSync(LOCK_FILE, { force: true });
      process.once('exit', release);
      return () => {
        process.off('exit', release);
        release();
      };
    } catch (error) {
      if (error.code !== 'EEXIST') fail(`${LOCK_FILE} cannot be written: ${error.message}`);
    }
    if (!isHeld()) rmSync(LOCK_FILE, { force: true });
    else if (waits === 10) say('waiting for another command that installs or builds here');
    if (isStopping) process.exit(0);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

function isHeld() {
  try {
    const pid = Number(readFileSync(LOCK_FILE, 'utf8'));
    if (pid === 0) return Date.now() - statSync(LOCK_FILE).mtimeMs < 5_000;
    process.kill(pid, 0);
    return pid !== process.pid;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

function isAtLeast(version, [major, minor]) {
  const [foundMajor, foundMinor] = version.split('.').map(Number);
  return foundMajor > major || (foundMajor === major && foundMinor >= minor);
}

/** True if the command does not exist. One that fails does exist: Maven fails if Java is missing. */
function isMissing(command) {
  return spawnSync(command, ['--version'], { stdio: 'ignore' }).error?.code === 'ENOENT';
}

function succeeds(command, args) {
  return spawnSync(command, args, { stdio: 'ignore' }).status === 0;
}

function readJson(file) {
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined;
}

function say(line) {
  console.error(line);
}

function fail(message) {
  console.error(message);
  process.exit(1);
}
