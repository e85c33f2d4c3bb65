import type { Setting } from '@makerbook/settings';
import { root } from './read-manifests.js';

export type Spec = Readonly<Record<string, Setting<unknown>>>;

const exportOf: Readonly<Record<string, string>> = {
  'chain-watcher': 'watcherSettings',
  projector: 'projectorSettings',
  ingress: 'ingressSettings',
  query: 'querySettings',
  feed: 'feedSettings',
};

/**
 * The settings that a service reads, or a command of the operator, out of its built `env.js`.
 * @throws where the service has none
 */
export async function loadSettings(service: string, command?: string): Promise<Spec> {
  const module = (await import(`${root}services/${service}/dist/env.js`)) as Record<string, Spec>;
  const settings = module[command === 'migrate' ? 'migrateSettings' : (exportOf[service] ?? 'settings')];
  if (settings === undefined) throw new Error(`${service} has no settings`);
  return settings;
}
