import { Ajv, type ValidateFunction } from 'ajv';
import { findUnread } from './find-unread.js';
import { type Manifest, readText } from './read-manifests.js';

/** A model of a kind. Call `validate` on the manifest itself: the constructor would copy it. */
type Model = { readonly prototype: { validate(this: object): void } };
type Schema = { [key: string]: unknown };

/** The package with the kinds of a group. `kubernetes-models` has all groups of Kubernetes itself. */
const packages: Readonly<Record<string, string>> = {
  'gateway.networking.k8s.io': '@kubernetes-models/gateway-api',
  'keda.sh': '@kubernetes-models/keda',
  'monitoring.coreos.com': '@kubernetes-models/prometheus-operator',
  'postgresql.cnpg.io': '@kubernetes-models/cloudnative-pg',
};

/** Fields of CloudNativePG 1.30, which the package does not have yet. */
const newFields = /^\/spec\/primaryLease(\/(leaseDurationSeconds|renewDeadlineSeconds|retryPeriodSeconds))?$/;

/** Groups whose schemas no npm package has. A test of their own checks every field. */
export const groupsWithoutSchema: readonly string[] = ['gateway.envoyproxy.io'];

const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false });
const compiled = new Map<string, ValidateFunction>();
const strimzi = JSON.parse(readText('deploy/checks/schema/strimzi-1.2.0.json')) as Record<string, Schema>;

/**
 * Checks an object against the schema of its kind and version. A field that the schema does not know is wrong too: the
 * API server would drop it.
 * @returns the faults, each with its path; empty if there is none
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
  // Every object has metadata, whose fields the schemas leave open.
  const validate = compiled.get(manifest.kind) ?? ajv.compile(closeObjects(schema));
  compiled.set(manifest.kind, validate);
  validate(manifest);
  return (validate.errors ?? []).map(({ instancePath, message, params }) =>
    [instancePath, message, params['additionalProperty']].filter((part) => part !== undefined).join(' '),
  );
}

/** Returns the same schema, in which objects have only the named fields. */
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
