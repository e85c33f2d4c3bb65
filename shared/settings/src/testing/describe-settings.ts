import {
  apiSettings,
  feedSettings,
  kafkaSettings,
  limitSettings,
  marketSettings,
  opsSettings,
  postgresSettings,
  redisSettings,
  signingSettings,
  telemetrySettings,
  walletSettings,
} from '../deployment.js';
import { type Spec, variablesOf } from '../settings.js';

/** The groups that several services share, keyed by the heading of their section in this package's README. */
export const sharedSettings: Readonly<Record<string, Spec>> = {
  Kafka: kafkaSettings,
  Postgres: postgresSettings,
  Redis: redisSettings,
  Signing: signingSettings,
  Market: marketSettings,
  'Ports and logs': opsSettings,
  API: apiSettings,
  Limits: limitSettings,
  Wallets: walletSettings,
  Feed: feedSettings,
  Telemetry: telemetrySettings,
};

/** The settings section of a service's README: links to the groups that it takes whole, and a table of the others. */
export function describeSettings(spec: Spec): string {
  const isInSpec = ([name, setting]: [string, Spec[string]]) => spec[name] === setting;
  const taken = Object.entries(sharedSettings).filter(([, group]) => Object.entries(group).every(isInSpec));
  const shared = new Set(taken.flatMap(([, group]) => Object.values(group)));
  const own = Object.entries(spec).filter(([, setting]) => !shared.has(setting));
  const links = taken.map(([heading]) => `[${heading}](../../shared/settings/README.md#${anchorOf(heading)})`);
  return `It takes the shared settings ${links.join(', ')}. Its own settings:\n\n${settingsTable(Object.fromEntries(own))}`;
}

const anchorOf = (heading: string): string => heading.toLowerCase().replaceAll(' ', '-');

/** The settings as the rows of a README's table: `| variable | default | meaning |`. */
export function settingsTable(spec: Spec): string {
  const rows = Object.entries(spec).map(([name, setting]) => {
    const { fallback, description } = setting;
    const value = fallback === undefined ? 'required' : fallback === '' ? 'empty' : `\`${fallback}\``;
    const variables = variablesOf(name, setting).map((variable) => `\`${variable}\``);
    return `| ${variables.join(' or ')} | ${value} | ${description} |`;
  });
  return ['| variable | default | meaning |', '|---|---|---|', ...rows].join('\n');
}
