import type { Log } from '@makerbook/kafka';
import { type ParkedMessage, type ResolveOptions, readParked, resolveParked } from './handle-parked.js';
import type { Outcome } from './outcome.js';
import type { ParkedCommand } from './parse-command.js';

export const parkedUsage = [
  'parked list [--json]           shows the parked messages that are not dealt with',
  'parked show <id> …             shows them in full: reason, headers, value',
  'parked replay <id> …           appends them to the log again, once the cause is fixed',
  'parked discard <id> …          marks them as dealt with',
];

const resolutions = { replay: 'replayed', discard: 'discarded' } as const;

export async function runParked(
  log: Log,
  { verb, ids, isJson }: ParkedCommand,
  options: ResolveOptions,
): Promise<Outcome> {
  if (verb === 'list') {
    const open = (await readParked(log, options.prefix, () => isJson)).open();
    if (isJson) return { lines: [JSON.stringify(open, null, 2)], exitCode: 0 };
    return { lines: open.length === 0 ? ['nothing is parked'] : open.map(summarise), exitCode: 0 };
  }
  if (verb === 'show') {
    const parked = await readParked(log, options.prefix, (id) => ids.includes(id));
    const messages = ids.map((id) => parked.find(id)?.message);
    const lines = ids.flatMap((id, n) => tell(id, messages[n]));
    return { lines, exitCode: messages.includes(undefined) ? 1 : 0 };
  }
  const resolved = await resolveParked(log, resolutions[verb], ids, options);
  return {
    lines: resolved.map(({ id, refusal }) => `${id}: ${refusal ?? resolutions[verb]}`),
    exitCode: resolved.some(({ refusal }) => refusal !== undefined) ? 1 : 0,
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
