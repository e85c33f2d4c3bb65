import { z } from 'zod';

interface Kind {
  readonly status: number;
  readonly title: string;
  /** Whether the same request, sent again later, can succeed. */
  readonly retryable: boolean;
}

const kind = (status: number, title: string, retryable = false): Kind => ({ status, title, retryable });

/** Every error code of the interface, with its HTTP status. The code is the contract; the title is for people. */
export const problemKinds = {
  invalid_request: kind(400, 'The request is not well-formed'),
  too_many_orders: kind(400, 'More orders than allowed'),
  unsupported_permitted_taker: kind(400, 'Orders for one taker are not supported'),
  order_expired: kind(400, 'The order has expired'),
  order_cancelled: kind(400, 'The order is cancelled'),
  valid_until_passed: kind(400, 'The time of the request has passed'),
  duplicate: kind(400, 'The order exists already'),
  no_changes: kind(400, 'The request changes nothing'),
  invalid_date: kind(400, 'The transaction data is not valid'),
  unauthorized: kind(401, 'A key of a reader is needed'),
  invalid_signature: kind(403, 'The signature is not valid'),
  maker_not_whitelisted: kind(403, 'The maker is not on the whitelist'),
  request_expired: kind(403, 'The signed request is outside its time window'),
  request_replayed: kind(403, 'The signed request was used already'),
  not_found: kind(404, 'There is nothing at this address'),
  field_not_exists: kind(404, 'The field to change does not exist in the data'),
  method_not_allowed: kind(405, 'The method is not allowed here'),
  request_timeout: kind(408, 'The request did not arrive in time', true),
  superseded: kind(409, 'A newer instruction counts'),
  remaining_changed: kind(409, 'Another amount is left of the order'),
  gone: kind(410, 'It is not remembered any more'),
  payload_too_large: kind(413, 'The body is too large'),
  unsupported_media_type: kind(415, 'The content type is not supported'),
  rate_limited: kind(429, 'Too many requests', true),
  internal: kind(500, 'Something went wrong here', true),
  unavailable: kind(503, 'The service cannot answer now', true),
} as const satisfies Record<string, Kind>;

/** The code of an error answer. Clients switch on it. */
export type ProblemCode = keyof typeof problemKinds;

/** What is wrong at one place of the request. `pointer` is a JSON pointer (RFC 6901) into the body or the query. */
export const fieldProblem = z
  .object({
    pointer: z
      .string()
      .describe('JSON pointer (RFC 6901) to the place in the body, or `/` and the name of a parameter or header'),
    detail: z.string().describe('What is wrong there'),
  })
  .meta({ id: 'FieldProblem' });

/** The body of every error, `application/problem+json` (RFC 9457). */
export const problem = z
  .object({
    type: z.string().meta({ description: '`urn:makerbook:problem:` and the code' }),
    title: z.string().meta({ description: 'The same for every problem of the code' }),
    status: z.int().min(400).max(599).meta({ description: 'The HTTP status' }),
    detail: z.string().meta({ description: 'What is wrong with this request, and what to do about it' }),
    code: z
      .enum(Object.keys(problemKinds) as [ProblemCode, ...ProblemCode[]])
      .meta({ description: 'What a client switches on' }),
    requestId: z.string().meta({ description: 'The id under which the request is logged; also in `X-Request-Id`' }),
    retryable: z.boolean().meta({ description: 'Whether the same request, sent again later, can succeed' }),
    errors: z.array(fieldProblem).optional().meta({ description: 'The places of the request that are wrong' }),
    index: z.int().nonnegative().optional().meta({ description: 'The item of the request that failed, from 0' }),
    counts: z
      .looseObject({})
      .optional()
      .meta({ description: 'For `superseded`: the instruction that counts, with the fields of the request' }),
    remainingMakingAmount: z
      .string()
      .regex(/^0x(0|[1-9a-f][0-9a-f]{0,63})$/)
      .optional()
      .meta({ description: 'For `remaining_changed`: what is left of the order, as far as the service has seen' }),
  })
  .meta({ id: 'Problem' });

export type FieldProblem = z.infer<typeof fieldProblem>;
export type Problem = z.infer<typeof problem>;

/** The part of a problem that the caller writes. The rest follows from the code. */
export interface ProblemText {
  detail: string;
  errors?: FieldProblem[];
  index?: number;
  counts?: object;
  remainingMakingAmount?: string;
}

/** The body of an error answer. Its keys are always in this order. */
export function problemBody(code: ProblemCode, text: ProblemText, requestId: string): Problem {
  const { status, title, retryable } = problemKinds[code];
  return {
    type: `urn:makerbook:problem:${code}`,
    title,
    status,
    detail: text.detail,
    code,
    requestId,
    retryable,
    ...(text.errors === undefined ? {} : { errors: text.errors }),
    ...(text.index === undefined ? {} : { index: text.index }),
    ...(text.counts === undefined ? {} : { counts: { ...text.counts } }),
    ...(text.remainingMakingAmount === undefined ? {} : { remainingMakingAmount: text.remainingMakingAmount }),
  };
}
