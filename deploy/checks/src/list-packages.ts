interface Entry {
  readonly name?: string;
  readonly version?: string;
  readonly license?: string;
  readonly link?: boolean;
  readonly resolved?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

export interface Lock {
  readonly packages: Readonly<Record<string, Entry>>;
}

export interface Package {
  readonly name: string;
  readonly version: string;
  readonly license: string;
}

/**
 * Lists the third-party packages that run in the images, sorted by name and version. It follows the services'
 * `dependencies` as Node.js resolves them among the packages of the lock file.
 */
export function listPackages({ packages }: Lock): Package[] {
  const seen = new Set<string>();
  const found = new Map<string, Package>();
  const visit = (path: string) => {
    const entry = packages[path];
    if (entry === undefined || seen.has(path)) return;
    seen.add(path);
    if (entry.link === true) return visit(entry.resolved ?? '');
    const [, name] = /(?:^|\/)node_modules\/((?:@[^/]+\/)?[^/]+)$/.exec(path) ?? [];
    const { version = '', license = 'none' } = entry;
    if (name !== undefined) found.set(`${name}@${version}`, { name, version, license });
    for (const next of Object.keys({ ...entry.dependencies, ...entry.optionalDependencies, ...entry.peerDependencies }))
      visit(resolve(next, path));
  };
  const resolve = (name: string, from: string): string => {
    for (let folder = from; ; folder = folder.includes('/') ? folder.slice(0, folder.lastIndexOf('/')) : '') {
      const path = `${folder === '' ? '' : `${folder}/`}node_modules/${name}`;
      if (path in packages || folder === '') return path;
    }
  };
  for (const path of Object.keys(packages)) if (/^services\/[^/]+$/.test(path)) visit(path);
  return [...found.values()].sort((a, b) => (`${a.name}@${a.version}` < `${b.name}@${b.version}` ? -1 : 1));
}
