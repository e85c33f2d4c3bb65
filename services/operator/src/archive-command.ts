import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { topicNames, topicSpecs } from '@makerbook/contracts-events';
import type { Log } from '@makerbook/kafka';
import { type Archiving, archiveLog } from './archive/archive-log.js';
import type { Archive } from './archive/open-archive.js';
import { openBucket } from './archive/open-bucket.js';
import { openFolder } from './archive/open-folder.js';
import { restoreLog } from './archive/restore-log.js';
import { verifyArchive } from './archive/verify-archive.js';
import type { OperatorSettings } from './env.js';
import type { Outcome } from './outcome.js';
import type { ArchiveCommand } from './parse-command.js';

export const archiveUsage = [
  'log archive <place>            adds new records of the log to an archive in a folder, or in s3://bucket/prefix',
  '                               --follow: keeps archiving',
  'log restore <place>            appends an archive to an empty log, each record at its offset',
  'log verify <place>             compares an archive with the log, record by record',
];

type ArchiveSettings = Pick<OperatorSettings, 'TOPIC_PREFIX' | 'PARTITIONS' | 'ARCHIVE_KEY' | 'ARCHIVE_HEAD'>;

/** Runs one command about an archive of the log until it ends. */
export async function runArchive(
  log: Log,
  { verb, folder }: ArchiveCommand,
  settings: ArchiveSettings & Pick<OperatorSettings, 'TOPIC_REPLICATION_FACTOR'>,
  nowMs: number,
): Promise<Outcome> {
  const { TOPIC_PREFIX: prefix, PARTITIONS: partitions, TOPIC_REPLICATION_FACTOR: replicationFactor } = settings;
  const topic = topicNames(prefix).makerEvents;
  // Before a restore there may be no topic.
  const archive = openArchive(folder, verb === 'restore' ? partitions : await log.partitionsOf(topic), settings);
  try {
    if (verb === 'verify') return await verifyArchive(log, topic, archive);
    if (verb === 'restore') {
      const spec = topicSpecs(topicNames(prefix), partitions).find(({ name }) => name === topic);
      if (spec === undefined) throw new Error(`${topic} is not a topic`);
      const options = { clientId: 'makerbook-operator', nowMs };
      return await restoreLog(log, { ...spec, replicationFactor }, archive, options);
    }
    const { parts, records, newestMs } = await archiveOnce(log, topic, archive);
    const newest = records === 0 ? '' : `, the newest of ${new Date(newestMs).toISOString()}`;
    return { lines: [`${records} records in ${parts} parts${newest}`], exitCode: 0 };
  } finally {
    archive.store.close();
  }
}

/** The archive in a folder, or in a bucket: `s3://bucket/prefix`. @throws Error if the key or the bucket is invalid */
export function openArchive(
  place: string,
  partitions: number,
  { ARCHIVE_KEY, ARCHIVE_HEAD: head }: Pick<ArchiveSettings, 'ARCHIVE_KEY' | 'ARCHIVE_HEAD'>,
): Archive {
  const key = readKey(ARCHIVE_KEY());
  const headFile = head === '' ? undefined : head;
  const store = place.startsWith('s3:') ? openBucket(place) : openFolder(place);
  return { store, topic: topicNames().makerEvents, partitions, key, headFile };
}

async function archiveOnce(log: Log, topic: string, archive: Archive): Promise<ReturnType<Archiving['added']>> {
  const failed = Promise.withResolvers<never>();
  const archiving = await archiveLog(log, topic, archive, { onFatal: failed.reject, onFault: failed.reject });
  try {
    await Promise.race([archiving.caughtUp, failed.promise]);
  } finally {
    await archiving.stop();
  }
  return archiving.added();
}

/** A private key signs and verifies, a public one only verifies. */
function readKey(pem: string): KeyObject | undefined {
  if (pem === '') return undefined;
  try {
    const key = pem.includes('PRIVATE KEY') ? createPrivateKey(pem) : createPublicKey(pem);
    if (key.asymmetricKeyType === 'ed25519') return key;
  } catch {
    // The error could show the key.
  }
  throw new Error('ARCHIVE_KEY is not an Ed25519 key in PEM: make one with openssl genpkey -algorithm ed25519');
}
