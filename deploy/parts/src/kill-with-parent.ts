import { type ChildProcess, spawn } from 'node:child_process';

/**
 * A watcher in `sh`, which takes a few hundred kilobytes. It reads a list of process groups, and ends them when its
 * input closes. The input closes when this process ends, even by SIGKILL. Each group first gets its stop signal, to
 * write its data, and SIGKILL if it still runs after `GRACE_SECONDS`.
 */
const GRACE_SECONDS = 5;
const WATCHER = `
trap '' INT TERM HUP
held=' '
while read -r verb signal pid; do
  case $verb in
    hold) held="$held$signal:$pid " ;;
    drop) kept=' '
      for entry in $held; do [ "\${entry#*:}" = "$pid" ] || kept="$kept$entry "; done
      held=$kept ;;
  esac
done
for entry in $held; do kill -CONT "-\${entry#*:}" 2>/dev/null; kill "-\${entry%%:*}" "-\${entry#*:}" 2>/dev/null; done
tenths=0
while [ $tenths -lt ${GRACE_SECONDS}0 ]; do
  alive=
  for entry in $held; do kill -0 "-\${entry#*:}" 2>/dev/null && alive=yes; done
  [ -z "$alive" ] && exit 0
  sleep 0.1
  tenths=$((tenths + 1))
done
for entry in $held; do kill -KILL "-\${entry#*:}" 2>/dev/null; done
`;

/** Signals that let a program shut down cleanly, without the prefix SIG. */
export type StopSignal = 'TERM' | 'INT';

const heldPids = new Set<number>();
let watcher: ChildProcess | undefined;

/**
 * Makes a process group end when this process ends.
 * One watcher serves all groups. It starts with the first and ends with the last.
 * @param pid leader of the process group (a child started with `detached`)
 */
export function killWithParent(pid: number, signal: StopSignal): void {
  watcher ??= startWatcher();
  heldPids.add(pid);
  watcher.stdin?.write(`hold ${signal} ${pid}\n`);
}

/** Undoes {@link killWithParent}. Call it when the process has ended, before its pid can be used again. */
export function releaseFromParent(pid: number): void {
  if (!heldPids.delete(pid) || watcher === undefined) return;
  watcher.stdin?.write(`drop - ${pid}\n`);
  if (heldPids.size === 0) {
    watcher.stdin?.end();
    watcher = undefined;
  }
}

function startWatcher(): ChildProcess {
  const child = spawn('/bin/sh', ['-c', WATCHER, 'makerbook-watcher'], {
    detached: true,
    cwd: '/',
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  child.on('error', () => undefined);
  child.stdin?.on('error', () => undefined);
  child.unref();
  return child;
}
