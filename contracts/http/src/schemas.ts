import { z } from 'zod';
import { cancellations, limitOrderRecords, placementInput } from './orders.js';
import { problem } from './problems.js';
import { quotePatchAnswer, quotePatchInput } from './quotes.js';

/** The JSON Schema (draft 2020-12) of every body of the HTTP interface. */
export function jsonSchemas(): Record<string, object> {
  return {
    'limit-orders.post.request': describe(z.array(placementInput).min(1), 'Body of POST /v0alpha/limit-orders'),
    'limit-orders.response': describe(limitOrderRecords, 'Answer of POST and GET /v0alpha/limit-orders'),
    'limit-orders.delete.response': describe(cancellations, 'Answer of DELETE /v0alpha/limit-orders'),
    'quote-data.patch.request': describe(quotePatchInput, 'Body of PATCH /v0/quote/data'),
    'quote-data.patch.response': describe(quotePatchAnswer, 'Answer of PATCH /v0/quote/data, text/plain and bare'),
    problem: describe(problem, 'Body of every error'),
  };
}

function describe(schema: z.ZodType, title: string): object {
  return { title, ...z.toJSONSchema(schema, { unrepresentable: 'any' }) };
}
