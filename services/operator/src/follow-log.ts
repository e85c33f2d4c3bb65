import { topicNames } from '@makerbook/contracts-events';
import { serveOps, startService } from '@makerbook/http';
import { connectLog } from '@makerbook/kafka';
import { kafkaConnection } from '@makerbook/settings';
import type { Telemetry } from '@makerbook/telemetry';
import { archiveLog } from './archive/archive-log.js';
import { openArchive } from './archive-command.js';
import type { FollowSettings } from './env.js';

/** An archive that is older is not what it is kept for. */
const AGE_MS_MAX = 60_000;

/**
 * `log archive --follow`: keeps an archive some seconds behind the log until it is stopped. It is ready while it does.
 * @throws ArchiveBroken, LogUnavailable
 */
export function followLog(
  folder: string,
  settings: FollowSettings,
  { logger, serveMetrics }: Pick<Telemetry, 'logger' | 'serveMetrics'>,
) {
  return startService(async ({ onStop, fail }) => {
    const log = connectLog({ ...kafkaConnection(settings), clientId: 'log-archive', logger });
    onStop(log.close);
    const topic = topicNames(settings.TOPIC_PREFIX).makerEvents;
    const archive = openArchive(folder, await log.partitionsOf(topic), settings);
    onStop(archive.store.close);
    const archiving = await archiveLog(log, topic, archive, {
      onFatal: fail,
      onFault: (error) => logger.warn({ reason: error.message }, 'the log is not archived'),
    });
    onStop(archiving.stop);
    const ready = () => {
      const ageMs = archiving.ageMs();
      const isOk = ageMs < AGE_MS_MAX;
      const since = Number.isFinite(ageMs) ? `may be ${Math.round(ageMs / 1000)} s behind the log` : 'catches up';
      return { isOk, checks: { archive: isOk ? 'ok' : since } };
    };
    const ops = await serveOps(settings, { ready, serveMetrics });
    onStop(ops.stop);
    logger.info({ opsPort: ops.port, folder }, 'the log is archived');
    return { opsPort: ops.port, archiving };
  });
}
