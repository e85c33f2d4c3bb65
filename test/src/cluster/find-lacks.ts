import type { Profile } from './plan-check.js';
import type { Run } from './run-commands.js';

const MINOR_MIN = 32;
/** The cores that the pods of `small` ask for, with those of a release, whose pods start beside them. */
export const CORES_MIN = 5;

const POSTGRES = 'CloudNativePG';
/** Without it CloudNativePG refuses the nightly backups. */
const SNAPSHOTS = 'volumesnapshots.snapshot.storage.k8s.io';
/** A resource of each operator that `production` uses. */
const OPERATORS: Readonly<Record<string, string>> = {
  [POSTGRES]: 'clusters.postgresql.cnpg.io',
  Strimzi: 'kafkas.kafka.strimzi.io',
  'Envoy Gateway': 'clienttrafficpolicies.gateway.envoyproxy.io',
  KEDA: 'scaledobjects.keda.sh',
  'the Prometheus operator': 'servicemonitors.monitoring.coreos.com',
};

interface Lacks {
  /** Lacks that prevent the whole check. */
  readonly needed: readonly string[];
  /** Lacks that leave something unchecked. */
  readonly missing: readonly string[];
  readonly nodes: readonly string[];
  /** True if a claim gets a volume. */
  readonly hasStorage: boolean;
}

/** Finds what a cluster lacks, before anything is made in it. */
export async function findLacks(run: Run, profile: Profile): Promise<Lacks> {
  const ask = async (command: string): Promise<string | undefined> => {
    const { status, stdout } = await run(command);
    return status === 0 ? stdout.trim() : undefined;
  };
  const version = await ask('kubectl version -o json');
  if (version === undefined)
    return { needed: ['KUBECONFIG names no cluster that answers'], missing: [], nodes: [], hasStorage: false };
  const { serverVersion } = JSON.parse(version) as { serverVersion: { minor: string } };
  const isOld = Number.parseInt(serverVersion.minor, 10) < MINOR_MIN;
  const isThere = (await ask('kubectl get namespace makerbook --ignore-not-found -o name')) !== '';
  const nodes = (await ask(`kubectl get nodes -o jsonpath='{.items[*].metadata.name}'`))?.split(' ') ?? [];
  const zones = await ask(
    `kubectl get nodes -o jsonpath='{range .items[*]}{.metadata.labels.topology\\.kubernetes\\.io/zone}{"\\n"}{end}'`,
  );
  const cores = (await ask(`kubectl get nodes -o jsonpath='{.items[*].status.allocatable.cpu}'`)) ?? '';
  const coresInAll = cores.split(' ').reduce((sum, each) => sum + readCores(each), 0);
  const metrics = await ask('kubectl get --raw /apis/metrics.k8s.io/v1beta1');
  const classes = await ask('kubectl get storageclass -o name');
  const kinds = (await ask('kubectl get crd -o name')) ?? '';
  const lacking = (name: string) => !kinds.includes(OPERATORS[name] ?? name);
  const isProduction = profile === 'production';
  return {
    needed: [
      ...(isProduction && lacking(POSTGRES) ? [`${POSTGRES} is needed, which runs Postgres`] : []),
      ...(isProduction && !kinds.includes(SNAPSHOTS)
        ? ['volume snapshots are needed for the backups of Postgres']
        : []),
      ...(isOld ? [`Kubernetes is 1.${serverVersion.minor}, and 1.${MINOR_MIN} or newer is needed`] : []),
      ...(isThere ? ['the namespace makerbook is there, and is never touched: take another cluster'] : []),
    ],
    missing: [
      ...(nodes.length < 2 ? ['a second node: no drain, no spread'] : []),
      ...(new Set(zones?.split('\n').filter((zone) => zone !== '')).size < 2 ? ['a second zone: none is lost'] : []),
      ...(coresInAll < CORES_MIN ? [`cores: pods ask for ${CORES_MIN}, nodes have ${coresInAll}`] : []),
      ...(metrics === undefined ? ['a metrics API: no HPA'] : []),
      ...(classes === '' ? ['a StorageClass: no archive of the log'] : []),
      ...(isProduction ? Object.keys(OPERATORS).filter((name) => name !== POSTGRES && lacking(name)) : []),
    ],
    nodes,
    hasStorage: classes !== '',
  };
}

/** @param quantity of CPU, as Kubernetes writes it: `2`, `1900m` */
export const readCores = (quantity: string): number =>
  quantity.endsWith('m') ? Number.parseInt(quantity, 10) / 1000 : Number(quantity);
