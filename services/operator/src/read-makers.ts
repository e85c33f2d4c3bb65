import { decodeMakersRecord, type MakerView, topicNames } from '@makerbook/contracts-events';
import type { Hex } from '@makerbook/contracts-primitives';
import type { Log } from '@makerbook/kafka';
import { readTopic } from './read-topic.js';

/** The content of `limit-orders.makers.v1`. */
export interface ShownMakers {
  /** Every maker with a record, by address. */
  readonly makers: ReadonlyMap<Hex, MakerView>;
  readonly isCancelOnly: boolean;
}

/** The makers as ingress and query know them now. @throws LogUnavailable */
export async function readMakers(log: Log, prefix: string): Promise<ShownMakers> {
  const makers = new Map<Hex, MakerView>();
  let isCancelOnly = false;
  for (const stored of await readTopic(log, topicNames(prefix).makers)) {
    const record = decodeMakersRecord(stored);
    if ('unreadable' in record) continue;
    if (record.type === 'ServiceView') isCancelOnly = record.mode === 'CANCEL_ONLY';
    else makers.set(record.maker, record);
  }
  return { makers, isCancelOnly };
}
