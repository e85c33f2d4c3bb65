import { z } from 'zod';
import { bookRecord, makerView } from './feeds.js';
import { makerEvent } from './maker-events.js';

/** The JSON Schema (draft 2020-12) of every message's data, by its topic. */
export function jsonSchemas(): Record<string, object> {
  return {
    'maker-events.v1': describe(
      makerEvent,
      'A fact on limit-orders.maker-events.v1; `type` is carried by the header ce_type',
    ),
    'book.v1': describe(bookRecord, 'A record of limit-orders.book.v1; `type` is carried by the header ce_type'),
    'makers.v1': describe(makerView, 'A record of limit-orders.makers.v1; `type` is carried by the header ce_type'),
  };
}

function describe(schema: z.ZodType, title: string): object {
  return { title, ...z.toJSONSchema(schema, { unrepresentable: 'any' }) };
}
