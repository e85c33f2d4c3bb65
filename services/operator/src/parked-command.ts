import type { Log } from '@makerbook/kafka';
import {
  listParked,
  type ParkedMessage,
  type Resolution,
  type ResolveOptions,
  resolveParked,
} from './handle-parked.js';
import type { Outcome } from './outcome.js';

export const parkedUsage = [
  'parked list [--json]           shows the messages that could not be handled, and are not dealt with',
  'parked show <id> …             shows all of them: reason, headers, value',
  'parked replay <id> …           appends them to the log again, once the cause is fixed',
  'parked discard <id> …          notes that they are dealt with',
];

const resolutions: Readonly<Record<string, Resolution>> = { replay: 'replayed', discard: 'discarded' };

/** Runs `parked …`; undefined where the words are no such command. */
export async function runParked(
  log: Log,
  [verb, ...rest]: readonly string[],
  options: ResolveOptions,
): Promise<Outcome | undefined> {
  if (verb === 'list' && (rest.length === 0 || (rest.length === 1 && rest[0] === '--json'))) {
    const open = (await listParked(log, options.prefix)).filter(({ resolution }) => resolution === undefined);
    if (rest.length > 0) return { lines: [JSON.stringify(open, null, 2)], exitCode: 0 };
    return { lines: open.length === 0 ? ['nothing is parked'] : open.map(summarise), exitCode: 0 };
  }
  if (rest.length === 0) return undefined;
  if (verb === 'show') {
    const parked = new Map((await listParked(log, options.prefix)).map((message) => [message.id, message]));
    const lines = rest.flatMap((id) => tell(id, parked.get(id)));
    return { lines, exitCode: rest.every((id) => parked.has(id)) ? 0 : 1 };
  }
  const resolution = verb === undefined ? undefined : resolutions[verb];
  if (resolution === undefined) return undefined;
  const resolved = await resolveParked(log, resolution, rest, options);
  return {
    lines: resolved.map((one) =>
      one.outcome === 'refused' ? `${one.id}: ${one.reason}` : `${one.id}: ${one.outcome}`,
    ),
    exitCode: resolved.every(({ outcome }) => outcome === resolution) ? 0 : 1,
  };
}

function summarise({ id, parkedAtMs, headers, reason }: ParkedMessage): string {
  return `${id}  ${new Date(parkedAtMs).toISOString()}  ${headers['ce_type'] ?? 'no type'}  ${reason}`;
}

function tell(id: string, message: ParkedMessage | undefined): string[] {
  if (message === undefined) return [`${id}: no such message is parked`];
  const { topic, partition, offset, reason, key, value, headers, resolution, obstacle, parkedAtMs } = message;
  return [
    `${id}: ${resolution ?? 'parked'}`,
    `  from     ${topic}, partition ${partition}, offset ${offset}`,
    `  parked   ${new Date(parkedAtMs).toISOString()}`,
    `  reason   ${reason}`,
    ...(obstacle === undefined ? [] : [`  replay   not possible: ${obstacle}`]),
    `  key      ${key}`,
    ...Object.entries(headers).map(([name, text]) => `  header   ${name}: ${text}`),
    `  value    ${value ?? 'none'}`,
  ];
}
