import { z } from 'zod';

const text = z.string().min(1);
const texts = z.record(z.string(), z.string());
const anything = z.record(z.string(), z.unknown());
const some = z.array(anything);

const placement = z.strictObject({ nodeSelector: texts, tolerations: some, affinity: anything });
const pods = placement.extend({
  serviceAccount: text,
  /** Added after those of the chart. */
  extraEnv: some,
  extraVolumes: some,
  extraVolumeMounts: some,
});

/** The values of nginx or Redis. */
const otherValues = placement.extend({ resources: anything, podAnnotations: texts });

/** The values of a service. */
const serviceValues = pods.extend({
  /** Has no effect if an HPA of the chart scales the service. */
  replicas: z.int().min(0),
  resources: anything,
  podAnnotations: texts,
});

const scaled = z.strictObject({ min: z.int().min(1), max: z.int().min(1) });

/** The values of the chart. */
export const chartValues = z.strictObject({
  /** The overlay: `production` has everything in the cluster, `small` uses an existing Kafka, Postgres and Redis. */
  profile: z.enum(['production', 'small']),
  images: z.strictObject({
    registry: text,
    tag: z.string(),
    /** Digests like `sha256:…`, used instead of the tag. Keyed by the name of the image. */
    digests: z.record(z.string(), z.string().regex(/^sha256:[0-9a-f]{64}$/)),
    pullSecrets: z.array(z.strictObject({ name: text })),
  }),
  /** Variables of all services. */
  settings: texts,
  /** Names of existing Secrets, keyed by the names in deploy/k8s/README.md. */
  secrets: z.record(z.string(), text),
  /** Namespaces that policies let in. */
  namespaces: z.record(z.string(), text),
  serviceAccounts: z.strictObject({ create: z.boolean(), annotations: texts }),
  gateway: z.strictObject({
    /** In `production`: the class and the host name of the Gateway. */
    className: text.optional(),
    host: text.optional(),
    /** In `small`: annotations of the Service in front of nginx. */
    serviceAnnotations: texts.optional(),
  }),
  /** Rules, monitors and dashboards. */
  monitoring: z.strictObject({ enabled: z.boolean(), labels: texts }).optional(),
  autoscaling: z.strictObject({ enabled: z.boolean(), services: z.record(z.string(), scaled) }).optional(),
  operator: pods,
  services: z.strictObject({
    ingress: serviceValues,
    query: serviceValues,
    feed: serviceValues,
    chainWatcher: serviceValues,
    projector: serviceValues,
    /** Only in `small`. */
    gateway: otherValues.extend({ replicas: z.int().min(0) }).optional(),
    /** Only in `production`. */
    redis: otherValues.optional(),
    logArchive: serviceValues.optional(),
  }),
});

export type ChartValues = z.infer<typeof chartValues>;
