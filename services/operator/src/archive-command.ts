import { topicNames, topicSpecs } from '@makerbook/contracts-events';
import type { Log } from '@makerbook/kafka';
import { archiveLog } from './archive/archive-log.js';
import { restoreLog } from './archive/restore-log.js';
import { verifyArchive } from './archive/verify-archive.js';
import type { Outcome } from './outcome.js';
import type { ArchiveCommand } from './parse-command.js';

export const archiveUsage = [
  'log archive <folder>           adds to an archive in files what the log has beyond it',
  'log restore <folder>           appends an archive to an empty log, each record at its offset',
  'log verify <folder>            compares an archive with the log, record by record',
];

/** Runs a command about an archive of the log. */
export function runArchive(
  log: Log,
  { verb, folder }: ArchiveCommand,
  { prefix, partitions, replicationFactor }: { prefix: string; partitions: number; replicationFactor: number },
): Promise<Outcome> {
  const archived = { topic: topicNames(prefix).makerEvents, name: topicNames().makerEvents, folder };
  if (verb === 'archive') return archiveLog(log, archived);
  if (verb === 'verify') return verifyArchive(log, archived);
  const spec = topicSpecs(topicNames(prefix), partitions).find(({ name }) => name === archived.topic);
  if (spec === undefined) throw new Error(`${archived.topic} is no topic`);
  return restoreLog(log, archived, { ...spec, replicationFactor }, 'makerbook-operator');
}
