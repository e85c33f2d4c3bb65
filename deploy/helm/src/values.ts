import { z } from 'zod';

const text = z.string().min(1);
const texts = z.record(z.string(), z.string());
const anything = z.record(z.string(), z.unknown());
const some = z.array(anything);

const placement = z.strictObject({ nodeSelector: texts, tolerations: some, affinity: anything });
const pods = placement.extend({
  serviceAccount: text,
  /** Behind those of the chart. */
  extraEnv: some,
  extraVolumes: some,
  extraVolumeMounts: some,
});

/** What a user sets of nginx or Redis. */
const otherValues = placement.extend({ resources: anything, podAnnotations: texts });

/** What a user sets of a service. */
const serviceValues = pods.extend({
  /** Not where an HPA of the chart has them. */
  replicas: z.int().min(0),
  resources: anything,
  podAnnotations: texts,
});

const scaled = z.strictObject({ min: z.int().min(1), max: z.int().min(1) });

/** The values of the chart. */
export const chartValues = z.strictObject({
  /** Which overlay: `production` has everything in the cluster, `small` a Kafka, Postgres and Redis that exist. */
  profile: z.enum(['production', 'small']),
  images: z.strictObject({
    registry: text,
    tag: z.string(),
    /** By the name of the image, instead of the tag: `sha256:…`. */
    digests: z.record(z.string(), z.string().regex(/^sha256:[0-9a-f]{64}$/)),
    pullSecrets: z.array(z.strictObject({ name: text })),
  }),
  /** Variables of all services. */
  settings: texts,
  /** Names of Secrets that exist, by the names in deploy/k8s/README.md. */
  secrets: z.record(z.string(), text),
  /** Namespaces that policies let in. */
  namespaces: z.record(z.string(), text),
  serviceAccounts: z.strictObject({ create: z.boolean(), annotations: texts }),
  gateway: z.strictObject({
    /** In `production`: the class and the host name of the Gateway. */
    className: text.optional(),
    host: text.optional(),
    /** In `small`: of the Service before nginx. */
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
    /** In `small`. */
    gateway: otherValues.extend({ replicas: z.int().min(0) }).optional(),
    /** In `production`. */
    redis: otherValues.optional(),
    logArchive: serviceValues.optional(),
  }),
});

export type ChartValues = z.infer<typeof chartValues>;
