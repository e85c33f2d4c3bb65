import { type ChildProcess, spawn } from 'node:child_process';

/**
 * A watcher of a few hundred kilobytes (`sh`) that reads which process groups it holds, and ends them when its input
 * closes: that is, when this process ends, however it ends (SIGKILL too).
 * Each group first gets the signal that its program takes as an order to stop, so that it may write down its data,
 * and SIGKILL when it is still there after `GRACE_SECONDS`.
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

/** Signals that a program takes as an order to stop, without the prefix SIG. */
export type StopSignal = 'TERM' | 'INT';

const heldPids = new Set<number>();
let watcher: ChildProcess | undefined;

/**
 * Puts a process group on this process's leash: it ends when this process does.
 * One watcher serves all groups; it starts with the first and leaves with the last.
 * @param pid leader of the process group (a child started with `detached`)
 */
export function holdOnLeash(pid: number, signal: StopSignal): void {
  watcher ??= startWatcher();
  heldPids.add(pid);
  watcher.stdin?.write(`hold ${signal} ${pid}\n`);
}

/** Takes a group off the leash: call it when the process has ended, before its number can be used again. */
export function dropFromLeash(pid: number): void {
  if (!heldPids.delete(pid) || watcher === undefined) return;
  watcher.stdin?.write(`drop - ${pid}\n`);
  if (heldPids.size === 0) {
    watcher.stdin?.end();
    watcher = undefined;
  }
}

function startWatcher(): ChildProcess {
  const child = spawn('/bin/sh', ['-c', WATCHER, 'makerbook-leash'], {
    detached: true,
    cwd: '/',
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  child.on('error', () => undefined);
  child.stdin?.on('error', () => undefined);
  child.unref();
  return child;
}
