import type { Hex } from '@makerbook/contracts-events';
import type { Log } from '@makerbook/kafka';
import { type AdmissionCommand, decideAdmission, listMakers } from './admit-makers.js';
import { createTopics } from './create-topics.js';
import type { OperatorSettings } from './env.js';

/** What a command printed, and how its process is to end. */
export interface Outcome {
  readonly lines: string[];
  readonly exitCode: 0 | 1;
}

const usage = [
  'topics                         creates the topics that are missing',
  'makers add <address> …         puts makers on the whitelist',
  'makers suspend <address> …     takes their access away for a time',
  'makers remove <address> …      takes them off the whitelist',
  'makers list                    shows every maker of whom was decided',
];

/** Runs one command of the operator. A wrong word is answered with what there is. */
export async function runCommand(
  log: Log,
  words: readonly string[],
  settings: OperatorSettings,
  { commandId, nowMs }: { commandId: string; nowMs: number },
): Promise<Outcome> {
  const [topic, verb, ...rest] = words;
  const { TOPIC_PREFIX: prefix, PARTITIONS: partitions } = settings;
  if (topic === 'topics' && verb === undefined) {
    const { lines, isAsExpected } = await createTopics(log, {
      prefix,
      partitions,
      replicationFactor: settings.TOPIC_REPLICATION_FACTOR,
    });
    return { lines, exitCode: isAsExpected ? 0 : 1 };
  }
  if (topic !== 'makers') return { lines: usage, exitCode: 1 };
  if (verb === 'list' && rest.length === 0) {
    const views = await listMakers(log, prefix);
    const lines = views.map(
      ({ maker, admission, nonce }) => `${maker}  ${admission}  nonce ${nonce ?? 'not read yet'}`,
    );
    return { lines: lines.length === 0 ? ['no maker yet'] : lines, exitCode: 0 };
  }
  if (!isAdmissionCommand(verb) || rest.length === 0) return { lines: usage, exitCode: 1 };
  const wrong = rest.filter((text) => !/^0x[0-9a-fA-F]{40}$/.test(text));
  if (wrong.length > 0)
    return { lines: wrong.map((text) => `${text} is no address: 0x and 40 hex digits`), exitCode: 1 };
  const makers = [...new Set(rest.map((text) => text.toLowerCase() as Hex))];
  const options = { prefix, partitions, commandId, nowMs, visibleWithinMs: settings.VISIBLE_WITHIN_MS };
  const hidden = await decideAdmission(log, verb, makers, options);
  const lines = makers.map((maker) =>
    hidden.includes(maker)
      ? `${maker}: written to the log, but not yet visible to the services: is the projector running?`
      : `${maker}: ${verb === 'add' ? 'admitted' : verb === 'suspend' ? 'suspended' : 'removed'}`,
  );
  return { lines, exitCode: hidden.length === 0 ? 0 : 1 };
}

function isAdmissionCommand(verb: string | undefined): verb is AdmissionCommand {
  return verb === 'add' || verb === 'suspend' || verb === 'remove';
}
