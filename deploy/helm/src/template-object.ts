import { type Manifest, readPods } from '@makerbook/deploy-checks';
import type { ChartValues } from './values.js';
import { TemplateWriter } from './write-template.js';

type Fields = Record<string, unknown>;
interface PodTemplate {
  readonly metadata: Fields;
  readonly spec: Fields & { containers: Fields[]; volumes?: Fields[] };
}

/** True for an object that the Prometheus operator or Grafana reads. */
export const isMonitoring = ({ kind, metadata }: Manifest): boolean =>
  ['PrometheusRule', 'ServiceMonitor', 'PodMonitor'].includes(kind) ||
  metadata.labels?.['grafana_dashboard'] !== undefined;

/** The key of `chain-watcher` among the values is `chainWatcher`. */
export const keyOf = (service: string): string =>
  service.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());

/** Writes the object as a template, with expressions where the values of the chart decide. */
export function templateObject(manifest: Manifest, values: ChartValues): string {
  const writer = new TemplateWriter();
  const object = structuredClone(manifest) as unknown as Fields;
  const metadata = object['metadata'] as Fields;
  metadata['namespace'] = writer.inline('.Release.Namespace');
  if (manifest.metadata.name.startsWith('settings-')) {
    metadata['name'] = 'settings';
    object['data'] = writer.block('.Values.settings');
  }
  if (manifest.kind === 'ServiceAccount') {
    metadata['name'] = writer.inline(`${pathOf(manifest.metadata.name, values)}.serviceAccount`);
    metadata['annotations'] = writer.optional('.Values.serviceAccounts.annotations');
  }
  if (isMonitoring(manifest)) {
    const { release: _, ...labels } = manifest.metadata.labels ?? {};
    const own = Object.entries(labels).map(([key, value]) => `${key}: ${JSON.stringify(value)}`);
    metadata['labels'] = writer.withEntries(own, '.Values.monitoring.labels');
  }
  templateSpec((object['spec'] ?? {}) as Fields, manifest, values, writer);
  const [pod] = readPods([manifest]);
  if (pod !== undefined) templatePod(object, manifest, values, writer);
  return writer.write(templateNames(object, values, writer) as object);
}

/** Templates the fields that only some kinds have. */
function templateSpec(spec: Fields, { kind, metadata }: Manifest, values: ChartValues, writer: TemplateWriter): void {
  const scaled = `.Values.autoscaling.services.${keyOf(metadata.name)}`;
  const [min, max] = kind === 'ScaledObject' ? ['minReplicaCount', 'maxReplicaCount'] : ['minReplicas', 'maxReplicas'];
  if (kind === 'HorizontalPodAutoscaler' || kind === 'ScaledObject') {
    spec[min] = writer.inline(`${scaled}.min`);
    spec[max] = writer.inline(`${scaled}.max`);
  }
  if (kind === 'Deployment' && keyOf(metadata.name) in values.services) {
    const replicas = `.Values.services.${keyOf(metadata.name)}.replicas`;
    spec['replicas'] =
      spec['replicas'] === undefined
        ? writer.when('not .Values.autoscaling.enabled', replicas)
        : writer.inline(replicas);
  }
  if (kind === 'Gateway') {
    spec['gatewayClassName'] = writer.inline('.Values.gateway.className');
    for (const listener of spec['listeners'] as Fields[]) listener['hostname'] = writer.inline('.Values.gateway.host');
  }
}

function templatePod(object: Fields, manifest: Manifest, values: ChartValues, writer: TemplateWriter): void {
  const spec = object['spec'] as Fields;
  const job = spec['jobTemplate'] as { spec: Fields } | undefined;
  const { metadata, spec: pod } = (job?.spec ?? spec)['template'] as PodTemplate;
  const [container] = pod.containers;
  const [, image] = /\/makerbook\/([a-z-]+)[:@]/.exec(`/${String(container?.['image'])}`) ?? [];
  if (container === undefined) return;
  if (image === undefined) return templateOther(manifest, { metadata, pod, container }, writer);
  const path = pathOf(String(pod['serviceAccountName']), values);
  container['image'] = writer.inline(`include "makerbook.image" (list . "${image}")`);
  Object.assign(pod, {
    serviceAccountName: writer.inline(`${path}.serviceAccount`),
    imagePullSecrets: writer.optional('.Values.images.pullSecrets'),
    ...templatePlacement(path, writer),
  });
  for (const source of (container['envFrom'] ?? []) as { configMapRef: { name: string } }[])
    source.configMapRef.name = 'settings';
  const withExtra = (own: unknown, value: string) =>
    Array.isArray(own) ? [...own, writer.items(`${path}.${value}`)] : writer.optional(`${path}.${value}`);
  container['env'] = withExtra(container['env'], 'extraEnv');
  container['volumeMounts'] = withExtra(container['volumeMounts'], 'extraVolumeMounts');
  Object.assign(pod, { volumes: withExtra(pod.volumes, 'extraVolumes') });
  if (manifest.kind !== 'Deployment') return;
  container['resources'] = writer.block(`${path}.resources`);
  // Roll out the pods that read the settings when they change.
  const sum = 'checksum/settings: {{ toJson .Values.settings | sha256sum }}';
  metadata['annotations'] = writer.withEntries([sum], `${path}.podAnnotations`);
}

/** Templates the pod of nginx or Redis. A user cannot change its image and volumes. */
function templateOther(
  { metadata: { name } }: Manifest,
  { metadata, pod, container }: { metadata: Fields; pod: Fields; container: Fields },
  writer: TemplateWriter,
): void {
  const path = `.Values.services.${name}`;
  Object.assign(pod, templatePlacement(path, writer));
  container['resources'] = writer.block(`${path}.resources`);
  metadata['annotations'] = writer.optional(`${path}.podAnnotations`);
}

const templatePlacement = (path: string, writer: TemplateWriter): Fields => ({
  nodeSelector: writer.optional(`${path}.nodeSelector`),
  tolerations: writer.optional(`${path}.tolerations`),
  affinity: writer.optional(`${path}.affinity`),
});

/** Returns the path of a service's values, or of those of the operator's Jobs. */
function pathOf(account: string, { services }: ChartValues): string {
  return keyOf(account) in services ? `.Values.services.${keyOf(account)}` : `.Values.${account}`;
}

/** Puts marks wherever the object names a Secret, a namespace that a policy lets in, or its own namespace. */
function templateNames(value: unknown, values: ChartValues, writer: TemplateWriter, key = ''): unknown {
  if (Array.isArray(value)) return value.map((item) => templateNames(item, values, writer, key));
  if (typeof value === 'string') return templateName(value, key, values, writer);
  if (typeof value !== 'object' || value === null) return value;
  const isSecret = /^(passwordSecret|certificateRefs)$/.test(key);
  return Object.fromEntries(
    Object.entries(value).map(([inner, one]) => [
      inner,
      templateNames(one, values, writer, isSecret && inner === 'name' ? 'secretName' : inner),
    ]),
  );
}

function templateName(
  value: string,
  key: string,
  { secrets, namespaces }: ChartValues,
  writer: TemplateWriter,
): string {
  if (key === 'secretName' && value in secrets) return writer.inline(`index .Values.secrets "${value}"`);
  if (key === 'kubernetes.io/metadata.name') {
    const [found] = Object.entries(namespaces).find(([, namespace]) => namespace === value) ?? [];
    if (found !== undefined) return writer.inline(`.Values.namespaces.${found}`);
  }
  return value
    .replaceAll('.makerbook.svc', () => `.${writer.inline('.Release.Namespace')}.svc`)
    .replaceAll('namespace="makerbook"', () => `namespace="${writer.inline('.Release.Namespace')}"`);
}
