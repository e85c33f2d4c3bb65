import { decodeMakersRecord, type MakerView, type ServiceView, topicNames } from '@makerbook/contracts-events';
import type { Hex } from '@makerbook/contracts-primitives';
import type { Log } from '@makerbook/kafka';
import { readTopic } from './read-topic.js';

/** The content of `limit-orders.makers.v1`. */
export interface ShownMakers {
  /** Every maker with a record, keyed by address. */
  readonly makers: ReadonlyMap<Hex, MakerView>;
  /** Undefined before the first decision about the service. */
  readonly service: ServiceView | undefined;
  /** When the projector published `service`, by the broker's clock, in milliseconds since 1970. */
  readonly serviceAtMs: number;
}

/** Reads the makers as ingress and query know them now. @throws LogUnavailable */
export async function readMakers(log: Log, prefix: string): Promise<ShownMakers> {
  const makers = new Map<Hex, MakerView>();
  let service: ServiceView | undefined;
  let serviceAtMs = 0;
  for await (const stored of readTopic(log, topicNames(prefix).makers)) {
    const record = decodeMakersRecord(stored);
    if ('unreadable' in record) continue;
    if (record.type === 'ServiceView') [service, serviceAtMs] = [record, stored.timestampMs];
    else makers.set(record.maker, record);
  }
  return { makers, service, serviceAtMs };
}
