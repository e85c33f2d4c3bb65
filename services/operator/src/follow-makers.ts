import { decodeMakersRecord, type MakersRecord, type MakerView, topicNames } from '@makerbook/contracts-events';
import type { Hex } from '@makerbook/contracts-primitives';
import type { Following, Log } from '@makerbook/kafka';

/** The content of `limit-orders.makers.v1`. */
export interface ShownMakers {
  /** Every maker with a record, by address. */
  readonly makers: ReadonlyMap<Hex, MakerView>;
  readonly isCancelOnly: boolean;
}

/** The makers as ingress and query know them now. */
export async function readMakers(log: Log, prefix: string): Promise<ShownMakers> {
  const shown = new Shown();
  const following = follow(log, prefix, (record) => shown.take(record));
  await following.caughtUp;
  await following.stop();
  return shown;
}

/**
 * Waits until ingress and query can see what was decided: by the newest records, for older ones may show the same.
 * @returns what they see then, or when the time is over
 */
export async function waitUntilShown(
  log: Log,
  { prefix, withinMs }: { readonly prefix: string; readonly withinMs: number },
  isShown: (shown: ShownMakers) => boolean,
): Promise<ShownMakers> {
  const shown = new Shown();
  const { promise, resolve } = Promise.withResolvers<void>();
  let isCaughtUp = false;
  const look = () => {
    if (isCaughtUp && isShown(shown)) resolve();
  };
  const following = follow(log, prefix, (record) => {
    shown.take(record);
    look();
  });
  const timer = setTimeout(resolve, withinMs);
  void following.caughtUp.then(() => {
    isCaughtUp = true;
    look();
  });
  await promise;
  clearTimeout(timer);
  await following.stop();
  return shown;
}

class Shown implements ShownMakers {
  readonly makers = new Map<Hex, MakerView>();
  isCancelOnly = false;

  take(record: MakersRecord): void {
    if (record.type === 'ServiceView') this.isCancelOnly = record.mode === 'CANCEL_ONLY';
    else this.makers.set(record.maker, record);
  }
}

function follow(log: Log, prefix: string, onRecord: (record: MakersRecord) => void): Following {
  return log.followTopic({
    topic: topicNames(prefix).makers,
    from: 'beginning',
    onRecords: (_partition, records) => {
      for (const stored of records) {
        const record = decodeMakersRecord(stored);
        if (!('unreadable' in record)) onRecord(record);
      }
    },
  });
}
