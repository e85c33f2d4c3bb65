import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { readText } from '@makerbook/deploy-checks';
import { waitUntilReady } from './podman.js';

export interface Upstreams {
  readonly ingress: readonly number[];
  readonly query: readonly number[];
  readonly feed: readonly number[];
}

export type Gateway = Awaited<ReturnType<typeof startGateway>>;

/** As long as a pod waits before it stops listening (preStop). */
const ROUTED_MS = 8_000;

/**
 * Starts nginx with the configuration of deploy/compose, in front of services on ports of this machine. Needs `nginx`
 * on the PATH. `route` switches to other pods, and then waits `ROUTED_MS`. Requests in flight end where they are.
 */
export async function startGateway(port: number, upstreams: Upstreams) {
  const folder = mkdtempSync(join(tmpdir(), 'makerbook-gateway-'));
  const file = join(folder, 'nginx.conf');
  const services = {
    ingress: await openService(upstreams.ingress),
    query: await openService(upstreams.query),
    feed: await openService(upstreams.feed),
  };
  const site = Object.entries(services)
    .reduce(
      (conf, [name, service]) => conf.replace(`server ${name}:8080;`, `server 127.0.0.1:${service.port};`),
      readText('deploy/compose/gateway/makerbook.conf'),
    )
    .replace('listen 8080;', `listen 127.0.0.1:${port};`)
    .replace('location / {', 'location = /gateway { return 200; }\n  location / {');
  const head = `daemon off; pid ${folder}/nginx.pid; worker_processes 1; events { worker_connections 1024; }`;
  writeFileSync(file, `${head}\nhttp { access_log off;\n${site}\n}\n`);
  const nginx = spawn('nginx', ['-e', 'stderr', '-p', folder, '-c', file], { stdio: ['ignore', 'ignore', 'inherit'] });
  const ended = once(nginx, 'exit');
  const stop = async () => {
    nginx.kill('SIGQUIT');
    await ended;
    for (const service of Object.values(services)) service.close();
    rmSync(folder, { recursive: true, force: true });
  };
  const url = `http://127.0.0.1:${port}`;
  try {
    await Promise.race([
      waitUntilReady(`${url}/gateway`, 10_000),
      ended.then(() => Promise.reject(new Error('nginx has ended'))),
    ]);
  } catch (error) {
    await stop().catch(() => undefined);
    throw error;
  }
  return {
    url,
    async route(next: Upstreams): Promise<void> {
      for (const name of ['ingress', 'query', 'feed'] as const) services[name].route(next[name]);
      await pause(ROUTED_MS);
    },
    stop,
  };
}

/** As a Service of Kubernetes, each new connection goes to the next pod. A reload of nginx would cut clients off. */
async function openService(ports: readonly number[]) {
  let [pods, taken] = [ports, 0];
  const server = createServer({ noDelay: true }, (client) => {
    taken += 1;
    const pod = connect({ port: pods[taken % pods.length] ?? 0, host: '127.0.0.1', noDelay: true });
    pipeline(client, pod, client, () => undefined);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    route(next: readonly number[]): void {
      pods = next;
    },
    close: () => server.close(),
  };
}
