import { execFile, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);
export const services = ['projector', 'chain-watcher', 'ingress', 'query', 'feed'] as const;
export const images = [...services, 'operator'] as const;
const STOP_SECONDS = 40;
const HEALTH_RETRIES = 3;

/** Ends the process if a program is not on the PATH. */
export function requirePrograms(...names: readonly string[]): void {
  const missing = names.filter((name) => spawnSync(name, ['-v'], { stdio: 'ignore' }).error !== undefined);
  if (missing.length === 0) return;
  console.error(
    `${missing.join(' and ')} cannot be run; install with, for example, \`apt-get install -y ${missing.join(' ')}\``,
  );
  process.exit(1);
}

export async function podman(...words: string[]): Promise<string> {
  const { stdout } = await run('podman', words, { maxBuffer: 16 * 1024 * 1024 });
  return stdout.trim();
}

export const imageOf = (service: string, tag: string) => `localhost/makerbook/${service}:${tag}`;

/** Builds an image, with its output on standard error. @returns seconds that it took */
export async function buildImage(service: string, tag: string, root: string): Promise<number> {
  const startMs = performance.now();
  // Use the same values for all images, so that they share common layers.
  const head = execFileSync('git', ['log', '-1', '--format=%H %cI'], { cwd: root, encoding: 'utf8' });
  const [revision = '', created = ''] = head.trim().split(' ');
  const given = { VERSION: tag, REVISION: revision, CREATED: created };
  const args = Object.entries(given).flatMap(([name, value]) => ['--build-arg', `${name}=${value}`]);
  const words = [
    '--file',
    'deploy/docker/Dockerfile',
    '--target',
    service,
    '--tag',
    imageOf(service, tag),
    ...args,
    '.',
  ];
  // The OCI format has no health check.
  const build = spawn('podman', ['build', '--format', 'docker', ...words], {
    cwd: root,
    stdio: ['ignore', process.stderr, 'inherit'],
  });
  const stop = () => build.kill();
  process.once('exit', stop);
  const [code] = (await once(build, 'exit')) as [number | null];
  process.off('exit', stop);
  if (code !== 0) throw new Error(`podman build of ${service} ended with ${code}`);
  return (performance.now() - startMs) / 1000;
}

/** Removes images. Common layers of the builds stay in podman's cache. */
export async function removeImages(tag: string): Promise<void> {
  await podman('rmi', '--force', '--ignore', ...images.map((service) => imageOf(service, tag)));
}

export function play(manifest: object): void {
  execFileSync('podman', ['kube', 'play', '-'], { input: JSON.stringify(manifest), stdio: ['pipe', 'ignore', 'pipe'] });
}

/** Waits for a container that ends by itself, and returns what it printed. Throws if it failed. */
export async function waitForEnd(container: string): Promise<string> {
  const code = await podman('wait', container);
  const { stdout, stderr } = await run('podman', ['logs', container]);
  if (code !== '0') throw new Error(`${container} ended with ${code}: ${stdout}${stderr}`);
  return stdout.trim();
}

export async function waitUntilReady(url: string, withinMs = 300_000): Promise<void> {
  const startMs = performance.now();
  for (;;) {
    const isOk = await fetch(url, { signal: AbortSignal.timeout(5000) }).then(
      (response) => response.ok,
      () => false,
    );
    if (isOk) return;
    if (performance.now() - startMs > withinMs) throw new Error(`${url} was not ready within ${withinMs} ms`);
    await pause(100);
  }
}

/** Seconds since a container was started. */
export async function ageOf(container: string): Promise<number> {
  const started = await podman('inspect', '--format', '{{.State.StartedAt.UnixMilli}}', container);
  return (Date.now() - Number(started)) / 1000;
}

/** Stops a container as Kubernetes does: SIGTERM, and a time limit. @returns seconds that it took, and the exit code */
export async function stopContainer(container: string): Promise<{ seconds: number; exitCode: number }> {
  const startMs = performance.now();
  await podman('stop', '--time', String(STOP_SECONDS), container);
  const seconds = (performance.now() - startMs) / 1000;
  return { seconds, exitCode: Number(await podman('inspect', '--format', '{{.State.ExitCode}}', container)) };
}

/** True if the image's health check passes within its retries, as an engine runs it. */
export async function isHealthy(container: string): Promise<boolean> {
  for (let tries = 0; tries < HEALTH_RETRIES; tries += 1) {
    const passes = await podman('healthcheck', 'run', container).then(
      () => true,
      () => false,
    );
    if (passes) return true;
  }
  return false;
}

/** The most memory that the service in a container has had resident until now, in megabytes (10^6 bytes). */
export async function peakMemoryOf(container: string): Promise<number> {
  const init = await podman('inspect', '--format', '{{.State.Pid}}', container);
  const [service] = readFileSync(`/proc/${init}/task/${init}/children`, 'utf8').split(' ');
  const kilobytes = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${service}/status`, 'utf8'))?.[1];
  return (Number(kilobytes) * 1024) / 1e6;
}

/** Finds faults in the rights of a container's process, as the kernel shows them; empty if there are none. */
export async function findLooseRights(container: string): Promise<string[]> {
  const script = `
    const fs = require('fs');
    const status = Object.fromEntries(fs.readFileSync('/proc/1/status', 'utf8').split('\\n').map((line) => line.split(/:\\s*/)));
    let write = 'was written';
    try { fs.writeFileSync('/app/x', ''); } catch (error) { write = error.code; }
    console.log(JSON.stringify({ ...status, write }));`;
  const found = JSON.parse(await podman('exec', container, '/usr/local/bin/node', '-e', script)) as Record<
    string,
    string
  >;
  const expected = { CapEff: '0000000000000000', NoNewPrivs: '1', Seccomp: '2', write: 'EROFS' };
  const wrong = Object.entries(expected).filter(([name, value]) => found[name] !== value);
  const user = found['Uid']?.split('\t')[0];
  return [...wrong.map(([name]) => `${name} ${found[name]}`), ...(user === '65532' ? [] : [`uid ${user}`])];
}
