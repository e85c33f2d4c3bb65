import type { Hex } from '@makerbook/contracts-primitives';
import type { Log } from '@makerbook/kafka';
import { type AdmissionCommand, decideAdmission, liftQuarantine, listMakers } from './admit-makers.js';
import { createTopics } from './create-topics.js';
import type { OperatorSettings } from './env.js';

/** The output of a command and the exit code of its process. */
export interface Outcome {
  readonly lines: string[];
  readonly exitCode: 0 | 1;
}

const usage = [
  'migrate                        brings the schema of the read model up to this build',
  'topics                         creates the topics that are missing',
  'makers add <address> …         puts makers on the whitelist',
  'makers suspend <address> …     takes their access away for a time',
  'makers remove <address> …      takes them off the whitelist',
  'makers release <address> …     folds makers in quarantine again, once the cause is fixed',
  'makers list                    shows every maker with a decision',
];

/** Runs one command of the operator. An unknown command prints the usage. */
export async function runCommand(
  log: Log,
  words: readonly string[],
  settings: OperatorSettings,
  { commandId, nowMs }: { commandId: string; nowMs: number },
): Promise<Outcome> {
  const [topic, verb, ...rest] = words;
  const { TOPIC_PREFIX: prefix, PARTITIONS: partitions } = settings;
  if (topic === 'topics' && verb === undefined) {
    const { lines, isAsConfigured } = await createTopics(log, {
      prefix,
      partitions,
      replicationFactor: settings.TOPIC_REPLICATION_FACTOR,
    });
    return { lines, exitCode: isAsConfigured ? 0 : 1 };
  }
  if (topic !== 'makers') return { lines: usage, exitCode: 1 };
  if (verb === 'list' && rest.length === 0) {
    const views = await listMakers(log, prefix);
    const lines = views.map(
      ({ maker, admission, nonce }) => `${maker}  ${admission}  nonce ${nonce ?? 'not read yet'}`,
    );
    return { lines: lines.length === 0 ? ['no maker yet'] : lines, exitCode: 0 };
  }
  const isKnown = isAdmissionCommand(verb) || verb === 'release';
  if (!isKnown || rest.length === 0) return { lines: usage, exitCode: 1 };
  const wrong = rest.filter((text) => !/^0x[0-9a-fA-F]{40}$/.test(text));
  if (wrong.length > 0)
    return { lines: wrong.map((text) => `${text} is no address: 0x and 40 hex digits`), exitCode: 1 };
  const makers = [...new Set(rest.map((text) => text.toLowerCase() as Hex))];
  const options = { prefix, partitions, commandId, nowMs };
  if (verb === 'release') {
    await liftQuarantine(log, makers, options);
    return { lines: makers.map((maker) => `${maker}: release written to the log`), exitCode: 0 };
  }
  const hidden = await decideAdmission(log, verb, makers, {
    ...options,
    visibleWithinMs: settings.VISIBLE_WITHIN_MS,
  });
  const lines = makers.map((maker) =>
    hidden.includes(maker)
      ? `${maker}: written to the log, but not yet visible to the services: is the projector running?`
      : `${maker}: ${admitted[verb]}`,
  );
  return { lines, exitCode: hidden.length === 0 ? 0 : 1 };
}

const admitted = { add: 'admitted', suspend: 'suspended', remove: 'removed' } as const;

function isAdmissionCommand(verb: string | undefined): verb is AdmissionCommand {
  return verb === 'add' || verb === 'suspend' || verb === 'remove';
}
