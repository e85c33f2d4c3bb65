import { type FieldProblem, quantityInput, signatureInput } from '@makerbook/contracts-http';
import type { Hex } from '@makerbook/contracts-primitives';
import type { Refusal } from '@makerbook/http';
import { z } from 'zod';

/** A list request, parsed from the query (Interface 4.2). */
export interface ListRequest {
  /** Unix seconds; any uint256. */
  readonly issuedAt: bigint;
  /** The domain's salt, padded to 32 bytes on the left; 64 hex digits after 0x, lowercase. */
  readonly salt: Hex;
  /** Hex bytes; whether they are a signature is checked later. */
  readonly signature: string;
}

const issuedAtInput = z
  .string()
  .regex(/^[0-9]{1,78}$/, { error: 'must be an integer of Unix seconds' })
  .transform(BigInt)
  .refine((value) => value >> 256n === 0n, { error: 'must fit into a uint256' });

const fields = { issuedAt: issuedAtInput, salt: quantityInput, signature: signatureInput };

/** Reads the three parameters of a GET, each given once; other parameters are ignored. */
export function parseListRequest(query: URLSearchParams): ListRequest | Refusal {
  const errors: FieldProblem[] = [];

  function read<T>(name: keyof typeof fields, schema: z.ZodType<T>): T | undefined {
    const [value, ...more] = query.getAll(name);
    const detail = value === undefined ? 'is missing' : more.length > 0 ? 'is given more than once' : undefined;
    const parsed = detail === undefined ? schema.safeParse(value) : undefined;
    if (parsed?.success) return parsed.data;
    errors.push({ pointer: `/${name}`, detail: detail ?? parsed?.error.issues[0]?.message ?? 'is wrong' });
    return undefined;
  }

  const issuedAt = read('issuedAt', fields.issuedAt);
  const salt = read('salt', fields.salt);
  const signature = read('signature', fields.signature);
  if (issuedAt === undefined || salt === undefined || signature === undefined) {
    const [first] = errors;
    const detail = `the query parameter ${first?.pointer.slice(1)} ${first?.detail}`;
    return { code: 'invalid_request', detail, errors };
  }
  return { issuedAt, salt: `0x${salt.slice(2).toLowerCase().padStart(64, '0')}`, signature };
}
