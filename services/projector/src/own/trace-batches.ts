import { type Attributes, inBatchSpan } from '@makerbook/telemetry';
import type { LoggedFact } from '../fold/read-facts.js';
import type { Projector } from './project-log.js';

type HandleBatch = Projector['handleBatch'];

/** Handles each batch of facts in a CONSUMER span, with a link to what each sampled trace has in it. */
export function traceBatches(
  handle: HandleBatch,
  from: { readonly topic: string; readonly groupId: string },
): HandleBatch {
  return (batch, hold) => {
    const { partition, records } = batch;
    const attributes = {
      'messaging.consumer.group.name': from.groupId,
      'messaging.destination.partition.id': String(partition),
      'messaging.batch.message_count': records.length,
    };
    const parts = { parts: records, traceOf: ({ record }: LoggedFact) => record.headers, describe };
    return inBatchSpan({ topic: from.topic, attributes, ...parts }, () => handle(batch, hold));
  };
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
