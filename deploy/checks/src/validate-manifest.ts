import { Ajv, type ValidateFunction } from 'ajv';
import { findUnread } from './find-unread.js';
import { type Manifest, readText } from './read-manifests.js';

/** Its constructor would copy the manifest, so `validate` is called on the manifest itself. */
type Model = { readonly prototype: { validate(this: object): void } };
type Schema = { [key: string]: unknown };

/** Which package holds the kinds of a group; groups of Kubernetes itself are all in `kubernetes-models`. */
const packages: Readonly<Record<string, string>> = {
  'gateway.networking.k8s.io': '@kubernetes-models/gateway-api',
  'keda.sh': '@kubernetes-models/keda',
  'monitoring.coreos.com': '@kubernetes-models/prometheus-operator',
  'postgresql.cnpg.io': '@kubernetes-models/cloudnative-pg',
};

/** Of CloudNativePG 1.30, which the package does not have yet. */
const newFields = /^\/spec\/primaryLease(\/(leaseDurationSeconds|renewDeadlineSeconds|retryPeriodSeconds))?$/;

/** No npm package has the schemas of these: a test of their own holds every field. */
export const groupsWithoutSchema: readonly string[] = ['gateway.envoyproxy.io'];

const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false });
const compiled = new Map<string, ValidateFunction>();
const strimzi = JSON.parse(readText('deploy/checks/schema/strimzi-1.2.0.json')) as Record<string, Schema>;

/**
 * Holds an object to the schema of its kind and version. A field that the schema does not know is wrong too: the API
 * server would drop it, with what it was meant to do.
 * @returns what is wrong, each with its path; empty where nothing is
 */
export async function validateManifest(manifest: Manifest): Promise<string[]> {
  const [group] = manifest.apiVersion.includes('/') ? manifest.apiVersion.split('/') : ['core'];
  if (groupsWithoutSchema.includes(group ?? '')) return [];
  if (group === 'kafka.strimzi.io') return validateStrimzi(manifest);
  const path = `${packages[group ?? ''] ?? 'kubernetes-models'}/${manifest.apiVersion}`;
  const module = (await import(path)) as Record<string, Model>;
  const Kind = module[manifest.kind];
  if (Kind === undefined) return [`${path} has no kind ${manifest.kind}`];
  const unread = findUnread(manifest, (observed) => Kind.prototype.validate.call(observed));
  return unread.filter((field) => group !== 'postgresql.cnpg.io' || !newFields.test(field));
}

function validateStrimzi(manifest: Manifest): string[] {
  const schema = strimzi[manifest.kind];
  if (manifest.apiVersion !== 'kafka.strimzi.io/v1' || schema === undefined)
    return [`there is no schema of ${manifest.apiVersion} ${manifest.kind}`];
  // Every object has the usual metadata, and the schemas leave it open.
  const validate = compiled.get(manifest.kind) ?? ajv.compile(closeObjects(schema));
  compiled.set(manifest.kind, validate);
  validate(manifest);
  return (validate.errors ?? []).map(({ instancePath, message, params }) =>
    [instancePath, message, params['additionalProperty']].filter((part) => part !== undefined).join(' '),
  );
}

/** The same schema, in which an object has no fields but those that are named. */
function closeObjects(schema: Schema): Schema {
  const { properties, items, ...rest } = schema as Schema & { properties?: Record<string, Schema>; items?: Schema };
  const isOpen = rest['additionalProperties'] !== undefined || rest['x-kubernetes-preserve-unknown-fields'] === true;
  return {
    ...rest,
    ...(items && { items: closeObjects(items) }),
    ...(properties && {
      properties: Object.fromEntries(Object.entries(properties).map(([name, inner]) => [name, closeObjects(inner)])),
      ...(!isOpen && { additionalProperties: false }),
    }),
  };
}
