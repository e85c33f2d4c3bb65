import { readText } from '../read-manifests.js';

const services = ['ingress', 'query', 'feed', 'projector', 'chain-watcher'] as const;

/** Of Prometheus, of the rules themselves, and of Kubernetes. */
const ofOthers =
  /^(up|ALERTS|slo:.+|kubelet_volume_stats_(available|capacity)_bytes|kube_cronjob_status_last_successful_time)$/;

/** The metrics that each service's README names; a test holds those tables to what a scrape shows. */
export function readMetrics(): Map<string, readonly string[]> {
  return new Map(services.map((service) => [service, metricsOf(readText(`services/${service}/README.md`))]));
}

function metricsOf(readme: string): string[] {
  const [, table = ''] = readme.split(/\| metric \| unit \| [^|\n]+ \|\n\|---\|---\|---\|\n/);
  return [...(table.split(/\n(?!\|)/)[0] ?? '').matchAll(/^\| `(\w+)`/gm)].map(([, name]) => name ?? '');
}

/** Those of which telemetry's README says that several services show them. */
export function readSharedMetrics(): string[] {
  return metricsOf(readText('shared/telemetry/README.md'));
}

/** Those of the names that nobody makes. */
export function findUnknown(names: Iterable<string>): string[] {
  const known = new Set([...readMetrics().values(), readSharedMetrics()].flat());
  const base = (name: string) => name.replace(/_(bucket|count|sum)$/, '');
  return [...names].filter((name) => !known.has(name) && !known.has(base(name)) && !ofOthers.test(name));
}
