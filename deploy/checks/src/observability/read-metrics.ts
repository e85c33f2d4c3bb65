import { scrapeMetrics } from './scrape-metrics.js';

export const services = ['ingress', 'query', 'feed', 'projector', 'chain-watcher'];

/** Metrics of Prometheus, the rules themselves, Kubernetes, and the operators of Kafka and Postgres. */
const ofOthers = new Set([
  'up',
  'ALERTS',
  'cnpg_pg_replication_in_recovery',
  'cnpg_pg_replication_is_wal_receiver_up',
  'kafka_server_replicamanager_underreplicatedpartitions',
  'kubelet_volume_stats_available_bytes',
  'kubelet_volume_stats_capacity_bytes',
  'kube_cronjob_created',
  'kube_cronjob_status_last_successful_time',
  'kube_deployment_spec_replicas',
  'kube_deployment_status_replicas_unavailable',
  'kube_pod_container_status_restarts_total',
  'kube_pod_status_phase',
  'kube_pod_status_ready',
]);
const isOfOthers = (name: string) => ofOthers.has(name) || name.startsWith('slo:');

/** The descriptions of metrics in a scrape, keyed by service. Those that several services have are under `shared`. */
export const described = await scrapeMetrics(services);

const namesOf = (group: string): string[] => [...(described.get(group)?.keys() ?? [])];

/** Returns the metrics of each service. */
export function readMetrics(): Map<string, readonly string[]> {
  return new Map(services.map((service) => [service, namesOf(service)]));
}

/** Returns the metrics that several services have. */
export function readSharedMetrics(): string[] {
  return namesOf('shared');
}

/** Returns the names that are no known metric. */
export function findUnknown(names: Iterable<string>): string[] {
  const known = new Set([...readMetrics().values(), readSharedMetrics()].flat());
  const base = (name: string) => name.replace(/_(bucket|count|sum)$/, '');
  return [...names].filter((name) => !known.has(name) && !known.has(base(name)) && !isOfOthers(name));
}
