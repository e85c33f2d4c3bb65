import type { PartitionBatch } from '@makerbook/kafka';
import { type Attributes, inBatchSpan } from '@makerbook/telemetry';
import type { LoggedFact } from '../fold/read-facts.js';

/** Handles a batch of facts in a CONSUMER span, which links to the sampled traces of the facts. */
export function traceBatch(
  { partition, records }: PartitionBatch<LoggedFact>,
  { topic, groupId }: { readonly topic: string; readonly groupId: string },
  handle: () => Promise<void>,
): Promise<void> {
  const attributes = {
    'messaging.consumer.group.name': groupId,
    'messaging.destination.partition.id': String(partition),
    'messaging.batch.message_count': records.length,
  };
  const parts = { parts: records, traceOf: ({ record }: LoggedFact) => record.headers, describe };
  return inBatchSpan({ topic, attributes, ...parts }, handle);
}

function describe({ fact, offset, record }: LoggedFact): Attributes {
  return {
    'messaging.kafka.offset': Number(offset),
    'cloudevents.event_type': record.headers['ce_type'],
    'makerbook.maker': 'maker' in fact ? fact.maker : undefined,
    'makerbook.request_id': 'cause' in fact && fact.cause.kind === 'request' ? fact.cause.requestId : undefined,
    'makerbook.block': 'block' in fact ? fact.block.number : undefined,
  };
}
