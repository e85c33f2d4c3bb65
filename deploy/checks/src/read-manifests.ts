import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseAllDocuments } from 'yaml';

/** A Kubernetes object as its YAML holds it. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels?: Record<string, string> };
  readonly spec?: Record<string, unknown>;
  readonly data?: Record<string, string>;
}

export const overlays = ['small', 'production'] as const;
export type Overlay = (typeof overlays)[number];

/** The repository's root, with a slash at its end. */
export const root = fileURLToPath(new URL('../../../', import.meta.url));

/** A file of the repository as text. */
export const readText = (path: string): string => readFileSync(root + path, 'utf8');

/** All objects of an overlay, as `kubectl kustomize` rendered them. */
export function readOverlay(overlay: Overlay): Manifest[] {
  return parseAllDocuments(readText(`deploy/k8s/rendered/${overlay}.yaml`)).map((document) => {
    if (document.errors.length > 0) throw document.errors[0];
    return document.toJS() as Manifest;
  });
}

/** `Deployment ingress`, for messages. */
export const nameOf = ({ kind, metadata }: Manifest): string => `${kind} ${metadata.name}`;

/**
 * A field of an object's spec. Its type is the caller's claim, which the schemas hold.
 * @throws where the object has no such field
 */
export function fieldOf<T>(manifest: Manifest | undefined, field: string): T {
  const value = manifest?.spec?.[field];
  if (value === undefined) throw new Error(`${manifest ? nameOf(manifest) : 'the object'} has no spec.${field}`);
  return value as T;
}
