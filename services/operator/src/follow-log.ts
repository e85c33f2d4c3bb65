import { topicNames } from '@makerbook/contracts-events';
import { retry } from '@makerbook/contracts-primitives';
import { healthOf, serveOps, startService } from '@makerbook/http';
import { connectLog, TopicMismatch } from '@makerbook/kafka';
import { kafkaConnection } from '@makerbook/settings';
import type { Telemetry } from '@makerbook/telemetry';
import { type Archiving, archiveLog } from './archive/archive-log.js';
import { ArchiveBroken } from './archive/encode-parts.js';
import { openArchive } from './archive-command.js';
import type { FollowSettings } from './env.js';

/** An older archive does not do what it is kept for. */
const AGE_MS_MAX = 60_000;

/**
 * `log archive --follow`: keeps an archive some seconds behind the log until it is stopped. It is ready while it keeps
 * up. While Kafka or the store is down, it waits, also at its start.
 * @throws ArchiveBroken, TopicMismatch
 */
export function followLog(
  folder: string,
  settings: FollowSettings,
  { logger, serveMetrics }: Pick<Telemetry, 'logger' | 'serveMetrics'>,
) {
  return startService(async ({ onStop, fail }) => {
    let archiving: Archiving | undefined;
    let fault = 'the archive is being opened';
    const onFault = (error: Error) => {
      fault = error.message;
      logger.warn({ reason: fault }, 'the log is not archived');
    };
    const ready = () => {
      if (archiving === undefined) return healthOf({ archive: fault });
      const ageMs = archiving.ageMs();
      const since = Number.isFinite(ageMs) ? `may be ${Math.round(ageMs / 1000)} s behind the log` : 'catches up';
      return healthOf({ archive: ageMs < AGE_MS_MAX ? 'ok' : since });
    };
    const ops = await serveOps(settings, { ready, serveMetrics });
    onStop(ops.stop);
    const log = connectLog({ ...kafkaConnection(settings), clientId: 'log-archive', logger });
    onStop(log.close);
    const topic = topicNames(settings.TOPIC_PREFIX).makerEvents;
    const mayRepeat = (error: unknown) => {
      if (error instanceof ArchiveBroken || error instanceof TopicMismatch) return false;
      onFault(error as Error);
      return true;
    };
    const partitions = await retry(() => log.partitionsOf(topic), { mayRepeat });
    const archive = openArchive(folder, partitions, settings);
    onStop(archive.store.close);
    archiving = await retry(() => archiveLog(log, topic, archive, { onFatal: fail, onFault }), { mayRepeat });
    onStop(archiving.stop);
    logger.info({ opsPort: ops.port, folder }, 'the log is archived');
    return { opsPort: ops.port, archiving };
  });
}
