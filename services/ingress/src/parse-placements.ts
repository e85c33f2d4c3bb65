import assert from 'node:assert';
import type { Hex } from '@makerbook/contracts-events';
import { type FieldProblem, placementInput } from '@makerbook/contracts-http';
import type { Order, TokenAmount } from '@makerbook/domain';
import type { Refusal } from '@makerbook/http';
import { z } from 'zod';

/** An order as it was posted, parsed; its signature in lowercase hex, not yet looked at. */
export interface Placement {
  readonly order: Order;
  readonly signature: Hex;
}

/** How many of the wrong places are named. */
const ERRORS_MAX = 20;

/**
 * Parses the body of a POST (Interface 4.3): hex of any case, leading zeros allowed, nothing that the maker did not
 * sign. The schema of the contract is the judge; the parser by hand takes what is well-formed, some twenty times
 * cheaper, and a test holds both to the same verdict.
 */
export function parsePlacements(body: unknown, ordersMax: number): readonly Placement[] | Refusal {
  if (Array.isArray(body) && body.length > ordersMax) {
    const detail = `a request places at most ${ordersMax} orders, not ${body.length}`;
    return { code: 'too_many_orders', detail, index: ordersMax };
  }
  return takeWellFormed(body) ?? explain(body);
}

/** The parser by hand: undefined for whatever is not well-formed. */
export function takeWellFormed(body: unknown): Placement[] | undefined {
  if (!Array.isArray(body) || body.length === 0) return undefined;
  const placements: Placement[] = [];
  for (const item of body as unknown[]) {
    if (!isRecord(item) || countKeys(item) !== 2) return undefined;
    const order = takeOrder(item['order']);
    const signature = item['signature'];
    if (order === undefined || typeof signature !== 'string' || !signaturePattern.test(signature)) return undefined;
    placements.push({ order, signature: signature.toLowerCase() as Hex });
  }
  return placements;
}

const quantityPattern = /^0x[0-9a-fA-F]{1,64}$/;
const addressPattern = /^0x[0-9a-fA-F]{40}$/;
const signaturePattern = /^0x(?:[0-9a-fA-F]{2}){0,1024}$/;

function takeOrder(value: unknown): Order | undefined {
  if (!isRecord(value) || countKeys(value) !== 7) return undefined;
  const salt = takeQuantity(value['salt']);
  const nonce = takeQuantity(value['nonce']);
  const expiresAt = takeQuantity(value['expiresAt']);
  if (salt === undefined || nonce === undefined || expiresAt === undefined) return undefined;
  const making = takeTokenAmount(value['making']);
  const taking = takeTokenAmount(value['taking']);
  if (making === undefined || taking === undefined) return undefined;
  const maker = takeAddress(value['maker']);
  const permittedTaker = takeAddress(value['permittedTaker']);
  if (maker === undefined || permittedTaker === undefined) return undefined;
  return { salt, nonce, expiresAt, making, taking, maker, permittedTaker };
}

function takeTokenAmount(value: unknown): TokenAmount | undefined {
  if (!isRecord(value) || countKeys(value) !== 2) return undefined;
  const token = takeAddress(value['token']);
  const amount = takeQuantity(value['amount']);
  return token === undefined || amount === undefined ? undefined : { token, amount };
}

function takeQuantity(value: unknown): bigint | undefined {
  return typeof value === 'string' && quantityPattern.test(value) ? BigInt(value) : undefined;
}

function takeAddress(value: unknown): Hex | undefined {
  return typeof value === 'string' && addressPattern.test(value) ? (value.toLowerCase() as Hex) : undefined;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function countKeys(value: object): number {
  return Object.keys(value).length;
}

const placementsInput = z.array(placementInput).min(1, { error: 'must hold at least one order' });

function explain(body: unknown): Refusal {
  const parsed = placementsInput.safeParse(body);
  assert(!parsed.success, 'the schema takes a body that the parser by hand does not');
  const errors = parsed.error.issues.flatMap(fieldProblems);
  const [first] = parsed.error.issues;
  const index = first?.path[0];
  return {
    code: 'invalid_request',
    detail: errors.length === 1 ? 'one field is not well-formed' : `${errors.length} fields are not well-formed`,
    errors: errors.slice(0, ERRORS_MAX),
    ...(typeof index === 'number' ? { index } : {}),
  };
}

function fieldProblems(issue: z.core.$ZodIssue): FieldProblem[] {
  if (issue.code === 'unrecognized_keys') {
    const detail = 'is not a field of the request';
    return issue.keys.map((name) => ({ pointer: pointerTo([...issue.path, name]), detail }));
  }
  return [{ pointer: pointerTo(issue.path), detail: issue.message }];
}

/** A JSON pointer (RFC 6901). A name is cut where it is absurdly long. */
function pointerTo(path: readonly PropertyKey[]): string {
  return path.map((part) => `/${String(part).slice(0, 100).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}
