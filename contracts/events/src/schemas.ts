import { z } from 'zod';
import { bookEntry, makerView, resumeRecord } from './feeds.js';
import { makerEvent } from './maker-events.js';

/** The JSON Schema (draft 2020-12) of every message's data, by the topic it stands on. */
export function jsonSchemas(): Record<string, object> {
  return {
    'maker-events.v1': describe(
      makerEvent,
      'A fact on limit-orders.maker-events.v1; `type` is carried by the header ce_type',
    ),
    'book.v1': describe(bookEntry, 'A record of limit-orders.book.v1; `type` is carried by the header ce_type'),
    'makers.v1': describe(makerView, 'A record of limit-orders.makers.v1; `type` is carried by the header ce_type'),
    'resume.v1': describe(resumeRecord, 'A record of limit-orders.resume.v1; `type` is carried by the header ce_type'),
  };
}

function describe(schema: z.ZodType, title: string): object {
  return { title, ...z.toJSONSchema(schema, { unrepresentable: 'any' }) };
}
