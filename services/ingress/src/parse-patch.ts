import type { FieldProblem } from '@makerbook/contracts-http';
import type { Refusal } from '@makerbook/http';

/** What a PATCH asks for. `data` is any text yet: whether it is a swap call is judged later. */
export interface AskedPatch {
  readonly data: string;
  /** The new minimum; undefined when the request names none. */
  readonly minOutput: bigint | undefined;
}

/**
 * Reads the body of PATCH /v0/quote/data (Interface 4.1): `data` is a string, `minOutput` absent or `{amount}`. Unknown
 * fields are refused, so that nobody takes a change for made that was not.
 */
export function parsePatch(body: unknown): AskedPatch | Refusal {
  if (!isObject(body)) return refuse([{ pointer: '', detail: 'must be an object' }]);
  const errors: FieldProblem[] = unknownFields(body, ['data', 'minOutput'], '');
  const { data } = body;
  if (typeof data !== 'string') errors.push({ pointer: '/data', detail: 'must be a hex string' });
  const minOutput = Object.hasOwn(body, 'minOutput') ? parseMinOutput(body['minOutput'], errors) : undefined;
  if (errors.length > 0 || typeof data !== 'string') return refuse(errors);
  return { data, minOutput };
}

function parseMinOutput(minOutput: unknown, errors: FieldProblem[]): bigint | undefined {
  if (!isObject(minOutput)) {
    errors.push({ pointer: '/minOutput', detail: 'must be an object with `amount`' });
    return undefined;
  }
  errors.push(...unknownFields(minOutput, ['amount'], '/minOutput'));
  const { amount } = minOutput;
  const value = typeof amount === 'string' ? parseAmount(amount) : undefined;
  if (value === undefined) {
    const detail =
      'must be a string: hex of at most 32 bytes such as "0x1f", or a whole number such as "31", below 2^256';
    errors.push({ pointer: '/minOutput/amount', detail });
  }
  return value;
}

const UINT256_LIMIT = 1n << 256n;

/** Bounded before it is read: the time to read digits grows with the square of their count. */
function parseAmount(text: string): bigint | undefined {
  if (/^0x[0-9a-fA-F]{1,64}$/.test(text)) return BigInt(text);
  if (!/^[0-9]{1,78}$/.test(text)) return undefined;
  const value = BigInt(text);
  return value < UINT256_LIMIT ? value : undefined;
}

const UNKNOWN_NAMED_MAX = 5;
const NAME_CHARACTERS_MAX = 64;

/** Names the first few: a body may hold a hundred thousand. */
function unknownFields(object: Record<string, unknown>, known: readonly string[], at: string): FieldProblem[] {
  const unknown: FieldProblem[] = [];
  for (const name of Object.keys(object)) {
    if (known.includes(name)) continue;
    if (unknown.length === UNKNOWN_NAMED_MAX) break;
    const pointer = `${at}/${name.slice(0, NAME_CHARACTERS_MAX).replaceAll('~', '~0').replaceAll('/', '~1')}`;
    unknown.push({ pointer, detail: 'is not a field of this request' });
  }
  return unknown;
}

function isObject(value: unknown): value is { data?: unknown; amount?: unknown; [name: string]: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function refuse(errors: FieldProblem[]): Refusal {
  const [first] = errors;
  const where = first === undefined || first.pointer === '' ? 'the body' : first.pointer;
  return { code: 'invalid_request', detail: `${where} ${first?.detail ?? 'is not well-formed'}`, errors };
}
