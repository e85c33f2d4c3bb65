import type { Hex } from '@makerbook/contracts-events';
import { type FieldProblem, type PlacementInput, placementInput } from '@makerbook/contracts-http';
import type { Order } from '@makerbook/domain';
import type { Refusal } from '@makerbook/http';
import { z } from 'zod';

/** An order as it was posted, parsed; its signature in lowercase hex, not yet looked at. */
export interface Placement {
  readonly order: Order;
  readonly signature: Hex;
}

/** How many of the wrong places are named. */
const ERRORS_MAX = 20;

const placementsInput = z.array(placementInput).min(1, { error: 'must hold at least one order' });

/**
 * Parses the body of a POST (Interface 4.3): hex of any case, leading zeros allowed, nothing that the maker did not
 * sign. Amounts are bigint and hex is lowercase from here on. 4 µs per order, of which the schema takes three quarters.
 */
export function parsePlacements(body: unknown, ordersMax: number): readonly Placement[] | Refusal {
  if (Array.isArray(body) && body.length > ordersMax) {
    const detail = `a request places at most ${ordersMax} orders, not ${body.length}`;
    return { code: 'too_many_orders', detail, index: ordersMax };
  }
  const parsed = placementsInput.safeParse(body);
  return parsed.success ? parsed.data.map(toPlacement) : explain(parsed.error);
}

function toPlacement({ order, signature }: PlacementInput): Placement {
  return {
    order: {
      salt: BigInt(order.salt),
      nonce: BigInt(order.nonce),
      expiresAt: BigInt(order.expiresAt),
      making: { token: lowercase(order.making.token), amount: BigInt(order.making.amount) },
      taking: { token: lowercase(order.taking.token), amount: BigInt(order.taking.amount) },
      maker: lowercase(order.maker),
      permittedTaker: lowercase(order.permittedTaker),
    },
    signature: lowercase(signature),
  };
}

function lowercase(hex: Hex): Hex {
  return hex.toLowerCase() as Hex;
}

function explain({ issues }: z.ZodError): Refusal {
  const errors = issues.flatMap(fieldProblems);
  const index = issues[0]?.path[0];
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
