import type { Log } from '@makerbook/kafka';
import { hideKeys } from '@makerbook/settings';
import { archiveUsage, runArchive } from './archive-command.js';
import { contractsUsage } from './contracts-command.js';
import { createTopics } from './create-topics.js';
import { decide, describeLimits } from './decide.js';
import { doctorUsage } from './doctor-command.js';
import type { OperatorSettings } from './env.js';
import type { Outcome } from './outcome.js';
import { parkedUsage, runParked } from './parked-command.js';
import { type Command, parseCommand } from './parse-command.js';
import { warnOfChangedKeys } from './read-account-keys.js';
import { type PastDecision, readHistory } from './read-history.js';
import { readMakers } from './read-makers.js';

const usage = [
  'migrate                        brings the schema of the read model up to this build',
  'topics                         creates the topics that are missing',
  'makers add <address> …         puts makers on the whitelist',
  'makers suspend <address> …     pauses their access; their orders leave the book',
  'makers remove <address> …      takes them off the whitelist; their orders leave the book',
  'makers set <address> …         gives them limits: --open-orders N --orders-per-second N --burst N',
  '                               --default: limits that are not named become the service’s again',
  'makers release <address> …     folds makers in quarantine again, once the cause is fixed',
  'makers cancel-only on|off      stops new orders of all makers, or takes them again',
  'makers list                    shows every maker with a decision, as the services see it; --json',
  'makers history [<address>]     shows all decisions about a maker, or about the service; --json',
  '--by WHO --reason WHY          go into the log with each decision; WHO defaults to the user of this machine',
  ...parkedUsage,
  ...archiveUsage,
  ...contractsUsage,
  ...doctorUsage,
];

/** The id, the time and the user of a command. */
export interface CommandContext {
  readonly commandId: string;
  readonly nowMs: number;
  readonly user: string;
}

/** The command that the words ask for; the answer if they ask for the usage, or are no command. */
export function readCommand(words: readonly string[]): Command | Outcome {
  if (words.includes('--help')) return { lines: usage, exitCode: 0 };
  const command = parseCommand(words);
  if (!('wrong' in command)) return command;
  return { lines: [...command.wrong.map(hideKeys), ...(command.needsUsage === true ? usage : [])], exitCode: 1 };
}

/** Runs one command of the operator that needs the log. */
export async function runCommand(
  log: Log,
  command: Exclude<Command, { readonly do: 'migrate' | 'contracts' | 'doctor' }>,
  settings: OperatorSettings,
  { commandId, nowMs, user }: CommandContext,
): Promise<Outcome> {
  const { TOPIC_PREFIX: prefix, PARTITIONS: partitions } = settings;
  switch (command.do) {
    case 'topics':
      return createTopics(log, { prefix, partitions, replicationFactor: settings.TOPIC_REPLICATION_FACTOR });
    case 'parked':
      return runParked(log, command, { prefix, partitions, commandId });
    case 'log':
      return runArchive(log, command, settings, nowMs);
    case 'list':
      return { lines: await listMakers(log, prefix, command.isJson), exitCode: 0 };
    case 'history': {
      const decisions = await readHistory(log, command.maker, { prefix, partitions });
      return { lines: command.isJson ? asJson(decisions.map(flatten)) : historyLines(decisions), exitCode: 0 };
    }
    default: {
      const { by = user, reason } = command;
      const visibleWithinMs = settings.VISIBLE_WITHIN_MS;
      const warnings = command.do === 'add' ? await warnOfChangedKeys(command.makers, settings.RPC_URL[0] ?? '') : [];
      const holdMs = settings.HOLD_SECONDS * 1_000;
      const options = { prefix, partitions, commandId, by, reason, nowMs, visibleWithinMs, holdMs };
      const outcome = await decide(log, command, options);
      return { ...outcome, lines: [...warnings.map((warning) => `warning: ${warning}`), ...outcome.lines] };
    }
  }
}

/** Lists every maker with an operator's decision, by address. */
async function listMakers(log: Log, prefix: string, isJson: boolean): Promise<string[]> {
  const { makers, service } = await readMakers(log, prefix);
  const isCancelOnly = service?.mode === 'CANCEL_ONLY';
  const decided = [...makers.values()]
    .filter(({ admission }) => admission !== 'UNKNOWN')
    .sort((a, b) => (a.maker < b.maker ? -1 : 1));
  if (isJson) {
    const listed = decided.map(({ maker, admission, nonce, limits = {} }) => ({ maker, admission, nonce, limits }));
    return asJson({ cancelOnly: isCancelOnly, makers: listed });
  }
  const lines = decided.map(({ maker, admission, nonce, limits = {} }) => {
    const own = Object.keys(limits).length === 0 ? '' : `  ${describeLimits(limits)}`;
    return `${maker}  ${admission}  nonce ${nonce ?? 'not read yet'}${own}`;
  });
  return [
    ...(isCancelOnly ? ['the service takes no new orders: makers cancel-only off'] : []),
    ...(lines.length === 0 ? ['no maker yet'] : lines),
  ];
}

function historyLines(decisions: readonly PastDecision[]): string[] {
  if (decisions.length === 0) return ['no decision yet'];
  return decisions.map((decision) => {
    const { at, offset, fact } = decision;
    const { by = 'somebody', reason } = flatten(decision);
    const what =
      fact.type === 'MakerLimitsSet'
        ? `${fact.type} (${describeLimits(fact.limits)})`
        : fact.type === 'ServiceModeSet'
          ? `${fact.type} (${fact.mode})`
          : fact.type;
    return `${at}  offset ${offset}  ${what}  by ${by}${reason === undefined ? '' : `: ${reason}`}`;
  });
}

function flatten({ at, partition, offset, fact }: PastDecision) {
  const { cause, ...decision } = fact;
  const { commandId, by, reason } = cause.kind === 'operator' ? cause : {};
  return { at, partition, offset, ...decision, commandId, by, reason };
}

function asJson(value: object): string[] {
  return [JSON.stringify(value, null, 2)];
}
