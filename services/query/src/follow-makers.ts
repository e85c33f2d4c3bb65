import { decodeMakerView } from '@makerbook/contracts-events';
import type { Following, Log } from '@makerbook/kafka';
import type { Logger } from '@makerbook/telemetry';

/** The whitelist, as `limit-orders.makers.v1` tells it. */
export interface Makers {
  readonly isAdmitted: (maker: string) => boolean;
  /** Whether everything that was in the topic at the start has been read: before that nobody is refused for it. */
  readonly isCaughtUp: () => boolean;
  readonly admittedCount: () => number;
  readonly lastPollAtMs: () => number;
  readonly stop: () => Promise<void>;
}

/** Keeps the admitted makers in memory: a set of addresses. A record that cannot be read leaves its maker as it was. */
export function followMakers(
  log: Log,
  topic: string,
  { logger, onFatal }: { logger: Logger; onFatal: (error: Error) => void },
): Makers {
  const admitted = new Set<string>();
  let isCaughtUp = false;
  const following: Following = log.followTopic({
    topic,
    from: 'beginning',
    onFatal,
    onRecords: (partition, records) => {
      for (const { key, value, headers, offset } of records) {
        if (value === null) {
          admitted.delete(key);
          continue;
        }
        const view = decodeMakerView({ value, headers });
        if ('unreadable' in view) {
          logger.error({ topic, partition, offset: String(offset), reason: view.unreadable }, 'a maker cannot be read');
        } else if (view.admission === 'ADMITTED') {
          admitted.add(view.maker);
        } else {
          admitted.delete(view.maker);
        }
      }
    },
  });
  following.caughtUp.then(() => {
    isCaughtUp = true;
  });
  return {
    isAdmitted: (maker) => admitted.has(maker),
    isCaughtUp: () => isCaughtUp,
    admittedCount: () => admitted.size,
    lastPollAtMs: () => following.lastPollAtMs(),
    stop: () => following.stop(),
  };
}
