import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseAllDocuments } from 'yaml';

/** A Kubernetes object as its YAML holds it. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec?: Record<string, unknown>;
  readonly data?: Record<string, string>;
}

export const overlays = ['small', 'production', 'router-outside'] as const;
export type Overlay = (typeof overlays)[number];

/** The repository's root, with a slash at its end. */
export const root = fileURLToPath(new URL('../../../', import.meta.url));

/** Reads a file of the repository as text. */
export const readText = (path: string): string => readFileSync(root + path, 'utf8');

/** Parses the objects of a YAML text. @throws if it is not YAML */
export function parseManifests(text: string): Manifest[] {
  return parseAllDocuments(text).map((document) => {
    if (document.errors.length > 0) throw document.errors[0];
    return document.toJS() as Manifest;
  });
}

/** Returns the command that renders overlays, kubectl or kustomize. Undefined if neither is on the PATH. */
export function findRenderer(): readonly [command: string, subcommand: string] | undefined {
  const renderers = [['kubectl', 'kustomize'] as const, ['kustomize', 'build'] as const];
  return renderers.find(([command]) => spawnSync(command, ['help']).error === undefined);
}

/** Returns all objects of an overlay, as kustomize renders them. @throws if it cannot render them */
export function renderOverlay(overlay: Overlay): Manifest[] {
  const renderer = findRenderer();
  if (renderer === undefined) throw new Error('neither kubectl nor kustomize is on the PATH: install one of them');
  const [command, subcommand] = renderer;
  const options = { cwd: root, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 } as const;
  const { status, stdout, stderr } = spawnSync(command, [subcommand, `deploy/k8s/overlays/${overlay}`], options);
  if (status !== 0) throw new Error(`${command} ${subcommand} of the overlay ${overlay}: ${stderr}`);
  return parseManifests(stdout);
}

/** Names an object in messages: `Deployment ingress`. */
export const nameOf = ({ kind, metadata }: Manifest): string => `${kind} ${metadata.name}`;

/**
 * Returns a field of an object's spec. The caller claims its type, which the schemas check.
 * @throws if the object has no such field
 */
export function fieldOf<T>(manifest: Manifest | undefined, field: string): T {
  const value = manifest?.spec?.[field];
  if (value === undefined) throw new Error(`${manifest ? nameOf(manifest) : 'the object'} has no spec.${field}`);
  return value as T;
}
