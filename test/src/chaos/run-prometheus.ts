import { spawn } from 'node:child_process';
import { mkdirSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RuleGroup } from '@makerbook/deploy-checks';
import { findFreePort, until } from '@makerbook/parts';

/** An alert that fires, as Prometheus reports it. */
export interface Firing {
  readonly name: string;
  readonly runbook: string;
}

export type Prometheus = Awaited<ReturnType<typeof runPrometheus>>;

/**
 * Runs the `prometheus` of the PATH on rules, against services on this machine.
 * @param targets `host:port` of each process, keyed by the job label of its scrapes
 * @throws Error if there is no `prometheus`, or it refuses the rules
 */
export async function runPrometheus(
  folder: string,
  groups: readonly RuleGroup[],
  targets: Readonly<Record<string, readonly string[]>>,
) {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'rules.json'), JSON.stringify({ groups }));
  const config = {
    global: { scrape_interval: '2s', scrape_timeout: '2s', evaluation_interval: '1s' },
    rule_files: ['rules.json'],
    scrape_configs: Object.entries(targets).map(([job, own]) => ({
      job_name: job,
      static_configs: [{ targets: own }],
    })),
  };
  // JSON is YAML.
  writeFileSync(join(folder, 'prometheus.yaml'), JSON.stringify(config));
  const port = await findFreePort();
  const log = openSync(join(folder, 'prometheus.log'), 'a');
  const args = ['--config.file=prometheus.yaml', '--storage.tsdb.path=data', `--web.listen-address=127.0.0.1:${port}`];
  const child = spawn('prometheus', args, { cwd: folder, stdio: ['ignore', log, log] });
  const ended = new Promise<string>((resolve) => {
    child.once('error', () =>
      resolve('prometheus is needed, and there is none: `apt-get install -y prometheus` installs it'),
    );
    child.once('exit', (code) => resolve(`prometheus ended with ${code}, see ${folder}/prometheus.log`));
  });
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  const url = `http://127.0.0.1:${port}`;
  const stop = async () => {
    child.kill('SIGTERM');
    await ended;
    process.off('exit', kill);
  };
  await Promise.race([
    ended.then((reason) => Promise.reject(new Error(reason))),
    until('prometheus is ready', () => isReady(url)),
  ]);
  return {
    stop,
    firing: () => readFiring(url),
    /** How many series an expression has now. @throws Error if Prometheus refuses the expression */
    count: (expr: string) => countSeries(url, expr),
  };
}

const isReady = async (url: string) => (await fetch(`${url}/-/ready`).catch(() => undefined))?.ok === true;

async function ask<T>(url: string): Promise<T> {
  const body = (await (await fetch(url)).json()) as { status: string; error?: string; data: T };
  if (body.status !== 'success') throw new Error(body.error);
  return body.data;
}

async function readFiring(url: string): Promise<Firing[]> {
  type Alert = { state: string; labels: Record<string, string>; annotations: Record<string, string> };
  const { alerts } = await ask<{ alerts: Alert[] }>(`${url}/api/v1/alerts`);
  return alerts
    .filter(({ state }) => state === 'firing')
    .map(({ labels, annotations }) => ({ name: labels['alertname'] ?? '', runbook: annotations['runbook_url'] ?? '' }));
}

async function countSeries(url: string, expr: string): Promise<number> {
  const { result } = await ask<{ result: unknown[] }>(`${url}/api/v1/query?${new URLSearchParams({ query: expr })}`);
  return result.length;
}
