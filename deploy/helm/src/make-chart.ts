import {
  isOurs,
  type Manifest,
  type Overlay,
  parseManifests,
  readPods,
  readText,
  renderOverlay,
} from '@makerbook/deploy-checks';
import { z } from 'zod';
import { isMonitoring, keyOf, templateObject } from './template-object.js';
import { type ChartValues, chartValues } from './values.js';
import { writeYaml } from './write-template.js';

/** The overlays that are profiles of the chart. The first has the default values. */
export const profiles = ['production', 'small'] as const satisfies readonly Overlay[];
export type Profile = (typeof profiles)[number];

/**
 * Makes the chart from the overlays as they are. Each object becomes a template, under the profile's condition. The
 * values of the chart render the templates to the overlay.
 * @param version version of the chart
 * @returns the content of each file, keyed by its path in the chart
 * @throws if there is neither kubectl nor kustomize
 */
export function makeChart(version: string): ReadonlyMap<string, string> {
  const files = new Map<string, string>([
    ['Chart.yaml', writeYaml(describeChart(version))],
    ['README.md', readText('deploy/helm/README.md')],
    [
      'values.schema.json',
      `${JSON.stringify(z.toJSONSchema(chartValues, { target: 'draft-7', io: 'input' }), null, 2)}\n`,
    ],
    ['templates/_image.tpl', imageTemplate],
  ]);
  let first: ChartValues | undefined;
  for (const profile of profiles) {
    // Leave out the namespace: the user of the chart makes it.
    const manifests = renderOverlay(profile).filter(({ kind }) => kind !== 'Namespace');
    const values = readValues(profile, manifests);
    // Helm merges a values file into the chart's own values, which are those of the first profile.
    if (first === undefined) files.set('values.yaml', writeYaml(values));
    else files.set(`values-${profile}.yaml`, writeYaml(differenceOf(first, values)));
    first ??= values;
    for (const manifest of manifests) {
      const name = `${manifest.kind}-${manifest.metadata.name}`.toLowerCase();
      const condition = [`eq .Values.profile "${profile}"`, ...conditionsOf(manifest)];
      const body = templateObject(manifest, values);
      files.set(
        `templates/${profile}/${name}.yaml`,
        `{{- if and ${condition.map((one) => `(${one})`).join(' ')} }}\n${body}{{- end }}\n`,
      );
    }
  }
  return files;
}

/** Returns the values that Helm must merge into the first ones to get the other ones. Null removes a key. */
function differenceOf(values: object, other: object): object {
  const [from, to] = [values, other] as Record<string, unknown>[];
  const keys = [...new Set([...Object.keys(from ?? {}), ...Object.keys(to ?? {})])];
  const differences = keys.flatMap((key) => {
    const [old, own] = [from?.[key], to?.[key]];
    if (JSON.stringify(old) === JSON.stringify(own)) return [];
    return [[key, isMap(old) && isMap(own) ? differenceOf(old, own) : (own ?? null)]];
  });
  return Object.fromEntries(differences);
}

const isMap = (value: unknown): value is object => typeof value === 'object' && value !== null && !Array.isArray(value);

const describeChart = (version: string) => ({
  apiVersion: 'v2',
  name: 'makerbook',
  description: 'A limit-order service for the Kaia chain.',
  type: 'application',
  version,
  appVersion: version,
  kubeVersion: '>=1.32.0-0',
});

const imageTemplate = `{{- define "makerbook.image" -}}
{{- $images := (index . 0).Values.images -}}
{{- $name := index . 1 -}}
{{- $digest := index $images.digests $name -}}
{{ $images.registry }}/{{ $name }}{{ if $digest }}@{{ $digest }}{{ else }}:{{ $images.tag }}{{ end }}
{{- end -}}
`;

const scalers = ['HorizontalPodAutoscaler', 'ScaledObject', 'TriggerAuthentication'];

function conditionsOf(manifest: Manifest): string[] {
  return [
    ...(isMonitoring(manifest) ? ['.Values.monitoring.enabled'] : []),
    ...(scalers.includes(manifest.kind) ? ['.Values.autoscaling.enabled'] : []),
    ...(manifest.kind === 'ServiceAccount' ? ['.Values.serviceAccounts.create'] : []),
  ];
}

/** Returns the values with which the templates render to the overlay. */
function readValues(profile: Profile, manifests: readonly Manifest[]): ChartValues {
  const pods = readPods(manifests).filter(isOurs);
  const images = pods.map(({ spec }) =>
    /^(.+)\/([a-z-]+)(?:@(sha256:.+)|:(.+))$/.exec(spec.containers[0]?.image ?? ''),
  );
  const digests = images.flatMap((image) => (image?.[3] === undefined ? [] : [[image[2], image[3]]]));
  const placement = { nodeSelector: {}, tolerations: [], affinity: {} };
  const extra = { extraEnv: [], extraVolumes: [], extraVolumeMounts: [] };
  const everywhere = (accounts: string) => ({ serviceAccount: accounts, ...placement, ...extra });
  const find = (kind: string) => manifests.filter((manifest) => manifest.kind === kind);
  const scaled = ['HorizontalPodAutoscaler', 'ScaledObject'].flatMap(find).map(({ metadata, spec = {} }) => {
    const { minReplicas, minReplicaCount, maxReplicas, maxReplicaCount } = spec;
    return [keyOf(metadata.name), { min: minReplicas ?? minReplicaCount, max: maxReplicas ?? maxReplicaCount }];
  });
  const others = readPods(manifests)
    .filter((pod) => !isOurs(pod))
    .map(({ service, spec }) => {
      const { replicas } = find('Deployment').find(({ metadata }) => metadata.name === service)?.spec ?? {};
      const own = { ...placement, resources: spec.containers[0]?.resources, podAnnotations: {} };
      return [service, replicas === undefined ? own : { ...own, replicas }];
    });
  const services = pods
    .filter(({ owner }) => owner.startsWith('Deployment '))
    .map(({ service, spec }) => {
      const deployment = find('Deployment').find(({ metadata }) => metadata.name === service);
      const { replicas = 2 } = deployment?.spec ?? {};
      return [
        keyOf(service),
        { ...everywhere(service), replicas, resources: spec.containers[0]?.resources, podAnnotations: {} },
      ];
    });
  const [gateway] = find('Gateway');
  const [listener] = (gateway?.spec?.['listeners'] ?? []) as { hostname?: string }[];
  const [namespaces] = parseManifests(readText(`deploy/k8s/overlays/${profile}/namespaces.yaml`));
  const monitors = manifests.filter(isMonitoring);
  return chartValues.parse({
    profile,
    images: {
      registry: images[0]?.[1],
      tag: images.find((image) => image?.[4] !== undefined)?.[4] ?? '',
      digests: Object.fromEntries(digests),
      pullSecrets: [],
    },
    settings: find('ConfigMap').find(({ metadata }) => metadata.name.startsWith('settings-'))?.data,
    secrets: Object.fromEntries(secretsOf(manifests).map((name) => [name, name])),
    namespaces: namespaces?.data,
    serviceAccounts: { create: true, annotations: {} },
    gateway:
      gateway === undefined
        ? { serviceAnnotations: {} }
        : { className: gateway.spec?.['gatewayClassName'], host: listener?.hostname },
    ...(monitors.length > 0 && {
      monitoring: { enabled: true, labels: { release: monitors[0]?.metadata.labels?.['release'] } },
    }),
    ...(scaled.length > 0 && { autoscaling: { enabled: true, services: Object.fromEntries(scaled) } }),
    operator: everywhere('operator'),
    services: Object.fromEntries([...services, ...others]),
  });
}

/** Returns the Secrets that pods, roles and the Gateway name, except Strimzi's, whose names a user cannot choose. */
function secretsOf(manifests: readonly Manifest[]): string[] {
  const text = JSON.stringify(manifests);
  const found = text.matchAll(/"(?:secretName":|passwordSecret":\{"name":|certificateRefs":\[\{"name":)"([^"]+)"/g);
  return [...new Set([...found].map(([, name]) => name ?? ''))].filter((name) => !name.startsWith('kafka-')).sort();
}
