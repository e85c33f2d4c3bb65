import { lookup } from 'node:dns/promises';
import { judgeProcesses, readMetrics, type Told } from '@makerbook/telemetry';
import type { DoctorSettings } from '../env.js';
import { alert, type Finding, judge } from './finding.js';

/** The default of feed's setting of the same name. */
const STALE_SECONDS_MAX = 5;

/** Checks what each process says of itself, as the console shows it, and which build it is. */
export async function examineProcesses(settings: DoctorSettings): Promise<readonly Finding[]> {
  if (settings.PROCESSES.length === 0) return [{ verdict: 'unread', what: 'processes: PROCESSES names none' }];
  const replicas = await Promise.all(settings.PROCESSES.map(([name = '', url = '']) => findReplicas(name, url)));
  const told = await Promise.all(replicas.flat().map(([name, url]) => readMetrics(name, url)));
  const checks = judgeProcesses(told, STALE_SECONDS_MAX);
  return [...checks.map(({ isWell, what, alert: name }) => judge(isWell, what, alert(name))), ...compareBuilds(told)];
}

/** A name with several addresses, such as that of a headless Service, stands for a process at each. */
async function findReplicas(name: string, url: string): Promise<readonly (readonly [string, string])[]> {
  const { hostname, protocol, port } = new URL(url);
  const found = await lookup(hostname.replace(/^\[(.*)\]$/, '$1'), { all: true, family: 4 }).catch(() => []);
  if (protocol === 'https:' || found.length < 2) return [[name, url]];
  return found.map(({ address }, n) => [`${name}-${n + 1}`, `http://${address}:${port || 80}`] as const);
}

function compareBuilds(told: readonly Told[]): Finding[] {
  const builds = told.flatMap(({ samples }) => samples.get('makerbook_build_info') ?? []);
  const processesOf = Map.groupBy(builds, ({ labels }) => `${labels['version']} (${labels['revision']})`);
  const all = [...processesOf].map(
    ([build, of]) => `${build}: ${of.map(({ labels }) => labels['process']).join(', ')}`,
  );
  if (all.length === 0) return [{ verdict: 'unread', what: 'builds: no process tells its build' }];
  return [judge(all.length === 1, `builds: ${all.join('; ')}`, 'deploy/runbooks/operations.md#upgrade')];
}
