import { type FieldProblem, PAGE_ORDERS_MAX, quantityInput, signatureInput } from '@makerbook/contracts-http';
import type { Hex } from '@makerbook/contracts-primitives';
import type { Refusal } from '@makerbook/http';
import { z } from 'zod';
import type { Page } from './take-page.js';

/** A list request, parsed from the query (Interface 4.2). */
export interface ListRequest {
  /** Unix seconds; any uint256. */
  readonly issuedAt: bigint;
  /** The domain's salt, padded to 32 bytes on the left; 64 hex digits after 0x, lowercase. */
  readonly salt: Hex;
  /** Hex bytes; whether they are a signature is checked later. */
  readonly signature: string;
  /** The part of the list that is asked for: all of it, unless there is a limit or a cursor. */
  readonly page: Page;
}

const issuedAtInput = z
  .string()
  .regex(/^[0-9]{1,78}$/, { error: 'must be an integer of Unix seconds' })
  .transform(BigInt)
  .refine((value) => value >> 256n === 0n, { error: 'must fit into a uint256' });

const limitInput = z
  .string()
  .regex(/^[1-9][0-9]{0,3}$/, { error: `must be a whole number from 1 to ${PAGE_ORDERS_MAX}` })
  .transform(Number)
  .refine((value) => value <= PAGE_ORDERS_MAX, { error: `must be at most ${PAGE_ORDERS_MAX}` });
const cursorInput = z
  .string()
  .regex(/^[0-9]{1,15}$/, { error: 'must be the X-Next-Cursor of the page before' })
  .transform(Number);

/** Reads the parameters of a GET, each given once; other parameters are ignored. */
export function parseListRequest(query: URLSearchParams): ListRequest | Refusal {
  const errors: FieldProblem[] = [];

  function read<T>(name: string, schema: z.ZodType<T>, isRequired = true): T | undefined {
    const [value, ...more] = query.getAll(name);
    if (value === undefined && !isRequired) return undefined;
    const detail = value === undefined ? 'is missing' : more.length > 0 ? 'is given more than once' : undefined;
    const parsed = detail === undefined ? schema.safeParse(value) : undefined;
    if (parsed?.success) return parsed.data;
    errors.push({ pointer: `/${name}`, detail: detail ?? parsed?.error.issues[0]?.message ?? 'is wrong' });
    return undefined;
  }

  const issuedAt = read('issuedAt', issuedAtInput);
  const salt = read('salt', quantityInput);
  const signature = read('signature', signatureInput);
  const page = { ordersMax: read('limit', limitInput, false), after: read('cursor', cursorInput, false) };
  const [first] = errors;
  if (issuedAt === undefined || salt === undefined || signature === undefined || first !== undefined) {
    const detail = `the query parameter ${first?.pointer.slice(1)} ${first?.detail}`;
    return { code: 'invalid_request', detail, errors };
  }
  return { issuedAt, salt: `0x${salt.slice(2).toLowerCase().padStart(64, '0')}`, signature, page };
}
