import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readText } from '@makerbook/deploy-checks';
import { waitUntilReady } from './podman.js';

export interface Upstreams {
  readonly ingress: readonly number[];
  readonly query: readonly number[];
  readonly feed: readonly number[];
}

export type Gateway = Awaited<ReturnType<typeof startGateway>>;

/**
 * nginx with the configuration of deploy/compose, before services on ports of this machine. Needs `nginx` on the PATH.
 * `route` gives it other services and returns when it has taken them; requests under way end where they are.
 */
export async function startGateway(port: number, upstreams: Upstreams) {
  const folder = mkdtempSync(join(tmpdir(), 'makerbook-gateway-'));
  const file = join(folder, 'nginx.conf');
  const words = ['-e', 'stderr', '-p', folder, '-c', file];
  const write = ({ ingress, query, feed }: Upstreams) => {
    const servers = (ports: readonly number[]) => ports.map((each) => `server 127.0.0.1:${each};`).join(' ');
    const site = readText('deploy/compose/gateway/makerbook.conf')
      .replace('server ingress:8080;', servers(ingress))
      .replace('server query:8080;', servers(query))
      .replace('server feed:8080;', servers(feed))
      .replace('listen 8080;', `listen 127.0.0.1:${port};`)
      .replace('location / {', 'location = /gateway { return 200; }\n  location / {');
    const head = `daemon off; pid ${folder}/nginx.pid; worker_processes 1; events { worker_connections 1024; }`;
    writeFileSync(file, `${head}\nhttp { access_log off;\n${site}\n}\n`);
  };
  write(upstreams);
  const nginx = spawn('nginx', words, { stdio: ['ignore', 'ignore', 'inherit'] });
  const ended = once(nginx, 'exit');
  const stop = async () => {
    nginx.kill('SIGQUIT');
    await ended;
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
    route: async (next: Upstreams) => {
      write(next);
      execFileSync('nginx', [...words, '-s', 'reload'], { stdio: 'ignore' });
      // As long as a pod waits before it stops listening (preStop): old workers have handed on what they had by then.
      await new Promise((resolve) => setTimeout(resolve, 8000));
    },
    stop,
  };
}
