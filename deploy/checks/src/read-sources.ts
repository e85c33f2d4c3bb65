import { posix } from 'node:path';
import { parse } from 'yaml';
import { type Manifest, overlays, parseManifests, readText } from './read-manifests.js';

/** The fields of a kustomization.yaml that the checks read. */
export interface Kustomization {
  /** Its folder, from the repository's root. */
  readonly folder: string;
  readonly resources: readonly string[];
  readonly components: readonly string[];
  readonly patches: readonly { readonly path?: string; readonly target?: { readonly kind?: string } }[];
  readonly configMapGenerator: readonly {
    readonly name: string;
    readonly files?: readonly string[];
    readonly literals?: readonly string[];
  }[];
}

/** Returns every kustomization that the overlays lead to, each once. */
export function readKustomizations(): Kustomization[] {
  const found = new Map<string, Kustomization>();
  const visit = (folder: string) => {
    if (found.has(folder)) return;
    const defaults = { resources: [], components: [], patches: [], configMapGenerator: [] };
    const read = parse(readText(`${folder}/kustomization.yaml`)) as Partial<Kustomization>;
    const kustomization = { ...defaults, ...read, folder };
    found.set(folder, kustomization);
    for (const path of [...kustomization.resources, ...kustomization.components])
      if (!path.endsWith('.yaml')) visit(posix.join(folder, path));
  };
  for (const overlay of overlays) visit(`deploy/k8s/overlays/${overlay}`);
  return [...found.values()];
}

/** Lists the files of a kustomization, with paths from the repository's root. */
export function listFiles({ folder, resources, patches, configMapGenerator }: Kustomization): string[] {
  return [
    ...resources.filter((path) => path.endsWith('.yaml')),
    ...patches.flatMap(({ path }) => path ?? []),
    // An entry is `name=file`, or the file alone.
    ...configMapGenerator.flatMap(({ files = [] }) => files.map((file) => file.replace(/^.*=/, ''))),
  ].map((path) => posix.join(folder, path));
}

/** Returns every object of the sources, before any patch. */
export function readSources(): Manifest[] {
  return readKustomizations().flatMap(({ folder, resources }) =>
    resources
      .filter((path) => path.endsWith('.yaml'))
      .flatMap((path) => parseManifests(readText(posix.join(folder, path)))),
  );
}
