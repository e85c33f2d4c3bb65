import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { connect } from 'node:tls';
import type { PutOrders } from '../kit/put-orders-on.js';
import type { Run } from './run-commands.js';

/** The kubelet writes a changed Secret into a pod within two minutes. */
const SHOWN_WITHIN_MS = 180_000;
/** After this long without a failure, requests count as answered again. */
const QUIET_MS = 10_000;
const POLL_MS = 100;
const GIVE_UP_MS = 180_000;

/** A cluster under load. */
export interface Loaded {
  readonly run: Run;
  readonly load: PutOrders;
  /** Faults are added here. */
  readonly faults: string[];
}

/** @param failuresMax requests that may fail meanwhile; any number unless given */
export async function underLoad(
  { load, faults }: Loaded,
  what: string,
  work: () => Promise<unknown>,
  failuresMax = Infinity,
): Promise<void> {
  const before = load.failures.length;
  await work();
  await pause(2_000);
  const failed = load.failures.length - before;
  console.log(`${what}: ${failed} requests failed`);
  if (failed > failuresMax) faults.push(`${what}: ${failed} requests failed, the first: ${load.failures[before]}`);
}

/** Kills a pod, and waits until as many as before are ready. */
export async function killPod({ run, faults }: Loaded, pod: string): Promise<void> {
  const startMs = performance.now();
  // Count the pods, because the Deployment does not know yet that one is gone.
  const { status, stderr } = await run(
    `service=$(kubectl -n makerbook get ${pod} -o jsonpath='{.metadata.labels.app\\.kubernetes\\.io/name}')
     wanted=$(kubectl -n makerbook get deploy $service -o jsonpath='{.spec.replicas}')
     ready='{.items[*].status.conditions[?(@.type=="Ready")].status}'
     kubectl -n makerbook delete ${pod} --grace-period=0 --force
     tries=0
     until [ $(kubectl -n makerbook get pods -l app.kubernetes.io/name=$service -o jsonpath="$ready" | grep -o True | wc -l) -ge $wanted ]; do
       if [ $((tries += 1)) -ge 300 ]; then echo "no other one is ready" >&2; exit 1; fi
       sleep 1
     done`,
  );
  if (status === 0) console.log(`kill ${pod}: another one is ready after ${inSeconds(startMs)}`);
  else faults.push(`kill ${pod}: ${stderr}`);
}

/**
 * Ends a part, and waits until requests are answered again.
 * @param awayMaxMs how long requests may fail, counted from the last answered POST before the first failure
 */
export async function endPart(
  { load, faults }: Loaded,
  what: string,
  end: () => Promise<void>,
  awayMaxMs: number,
): Promise<void> {
  const [startMs, before] = [performance.now(), load.failures.length];
  let sinceMs = startMs;
  const watch = setInterval(() => {
    if (load.failures.length === before) sinceMs = Math.max(startMs, load.placedAtMs());
  }, POLL_MS).unref();
  await end();
  let [failures, failedAtMs] = [before, performance.now()];
  while (performance.now() - failedAtMs < QUIET_MS && performance.now() - startMs < GIVE_UP_MS) {
    await pause(POLL_MS);
    if (load.failures.length > failures) [failures, failedAtMs] = [load.failures.length, performance.now()];
  }
  clearInterval(watch);
  const awayMs = failures === before ? 0 : failedAtMs - sinceMs;
  console.log(`${what}: all are answered after ${inSeconds(startMs, failedAtMs)}, ${inSeconds(0, awayMs)} of it not`);
  if (awayMs > awayMaxMs) faults.push(`${what}: not answered for longer than ${awayMaxMs / 1000} s`);
}

/** Waits until the gateway shows the certificate of the file. */
export async function expectCertificate({ faults }: Loaded, baseUrl: string, certFile: string): Promise<void> {
  const { serialNumber } = new X509Certificate(readFileSync(certFile));
  const startMs = performance.now();
  while ((await shownBy(baseUrl)) !== serialNumber) {
    if (performance.now() - startMs > SHOWN_WITHIN_MS) {
      faults.push('the gateway shows the certificate of before');
      return;
    }
    await pause(1_000);
  }
  console.log(`the gateway shows the new certificate after ${inSeconds(startMs)}`);
}

/** @returns the serial number of the certificate */
function shownBy(baseUrl: string): Promise<string> {
  const { hostname, port } = new URL(baseUrl);
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port) }, () => {
      resolve(socket.getPeerCertificate().serialNumber);
      socket.destroy();
    });
    socket.once('error', reject);
  });
}

export function inSeconds(sinceMs: number, untilMs = performance.now()): string {
  return `${((untilMs - sinceMs) / 1000).toFixed(1)} s`;
}
