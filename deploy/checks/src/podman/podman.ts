import { execFile, execFileSync } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { stringify } from 'yaml';

const run = promisify(execFile);

/** Runs podman and returns what it printed. Throws with its own words. */
export async function podman(...words: string[]): Promise<string> {
  const { stdout } = await run('podman', words, { maxBuffer: 16 * 1024 * 1024 });
  return stdout.trim();
}

/** Starts a pod out of its manifest. */
export function play(manifest: object): void {
  execFileSync('podman', ['kube', 'play', '-'], { input: stringify(manifest), stdio: ['pipe', 'ignore', 'pipe'] });
}

/** Waits for a pod that ends by itself, and returns what it printed. Throws where it failed. */
export async function waitForEnd(name: string): Promise<string> {
  const code = await podman('wait', `${name}-main`);
  const logs = await podman('logs', `${name}-main`);
  await podman('pod', 'rm', '--force', name);
  if (code !== '0') throw new Error(`${name} ended with ${code}: ${logs}`);
  return logs;
}

/** Waits until a URL answers with 200. */
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

/** Milliseconds since the process of a pod was started. */
export async function ageOf(name: string): Promise<number> {
  const started = await podman('inspect', '--format', '{{.State.StartedAt.UnixMilli}}', `${name}-main`);
  return Date.now() - Number(started);
}

/** Stops a pod as Kubernetes does: SIGTERM, and a time. @returns milliseconds that it took, and the exit code */
export async function stopPod(name: string): Promise<{ tookMs: number; exitCode: number }> {
  const startMs = performance.now();
  await podman('stop', '--time', '40', `${name}-main`);
  const tookMs = performance.now() - startMs;
  const exitCode = Number(await podman('inspect', '--format', '{{.State.ExitCode}}', `${name}-main`));
  await podman('pod', 'rm', '--force', name);
  return { tookMs, exitCode };
}

/** What the kernel says of the first process of a pod: capabilities, privileges, filter, user, memory. */
export async function inspectProcess(name: string): Promise<Record<string, string>> {
  const script =
    "const s=require('fs').readFileSync('/proc/1/status','utf8');let w='written';try{require('fs').writeFileSync('/app/x','')}catch(e){w=e.code}" +
    "const g=(k)=>s.match(new RegExp('^'+k+':\\\\s*(.*)$','m'))[1];" +
    "console.log(JSON.stringify({capabilities:g('CapEff'),noNewPrivileges:g('NoNewPrivs'),seccomp:g('Seccomp'),uid:g('Uid').split('\\t')[0],write:w}))";
  return JSON.parse(await podman('exec', `${name}-main`, '/usr/local/bin/node', '-e', script)) as Record<
    string,
    string
  >;
}
