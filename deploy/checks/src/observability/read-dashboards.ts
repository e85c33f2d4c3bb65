import { readdirSync } from 'node:fs';
import { readText, root } from '../read-manifests.js';

/** The fields of a Grafana dashboard that the checks read. */
export interface Dashboard {
  readonly uid: string;
  readonly links: readonly { readonly type: string; readonly tags: readonly string[] }[];
  readonly tags: readonly string[];
  readonly panels: readonly {
    readonly title: string;
    readonly type: string;
    readonly links?: readonly { readonly url: string }[];
    readonly targets?: readonly { readonly expr: string }[];
  }[];
}

const FOLDER = 'deploy/observability/dashboards';

export function readDashboards(): Dashboard[] {
  return readdirSync(root + FOLDER).map((file) => JSON.parse(readText(`${FOLDER}/${file}`)) as Dashboard);
}
