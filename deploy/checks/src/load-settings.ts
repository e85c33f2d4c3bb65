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

/** Commands with settings of their own, and the service whose program runs them. */
const ofCommands: Readonly<Record<string, { readonly service: string; readonly name: string }>> = {
  migrate: { service: 'operator', name: 'migrateSettings' },
  doctor: { service: 'operator', name: 'doctorSettings' },
  verify: { service: 'projector', name: 'rebuildSettings' },
};
const ofArchive = { service: 'operator', name: 'followSettings' };

/**
 * Loads the settings that a service or a command of the operator reads, from its built `env.js`.
 * @throws if the service has none
 */
export async function loadSettings(service: string, command?: string): Promise<Spec> {
  const ofOperator = service === 'operator' ? ofCommands[command ?? ''] : undefined;
  const own = service === 'log-archive' ? ofArchive : ofOperator;
  const module = (await import(`${root}services/${own?.service ?? service}/dist/env.js`)) as Record<string, Spec>;
  const settings = module[own?.name ?? exportOf[service] ?? 'settings'];
  if (settings === undefined) throw new Error(`${service} has no settings`);
  return settings;
}
