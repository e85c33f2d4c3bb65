import type { Hex } from '@makerbook/contracts-primitives';
import { z } from 'zod';
import { time } from './times.js';

const hex = (pattern: RegExp, description: string) =>
  z
    .custom<Hex>((value) => typeof value === 'string' && pattern.test(value), { error: `must be ${description}` })
    .meta({ type: 'string', pattern: pattern.source, description });

/** A uint256 as a client may write it: any case, leading zeros allowed, at most 32 bytes. */
export const quantityInput = hex(/^0x[0-9a-fA-F]{1,64}$/, 'a hex quantity of at most 32 bytes, such as "0x1f"');

/** A 20-byte address as a client may write it: any case, any checksum. */
export const addressInput = hex(/^0x[0-9a-fA-F]{40}$/, 'a 20-byte hex address');

/** An order hash as a client may write it. */
export const orderHashInput = hex(/^0x[0-9a-fA-F]{64}$/, 'a 32-byte hex hash');

/**
 * Hex bytes of a signature as a client may write them. Verification decides whether they are a signature: a
 * wrong length or v is `invalid_signature`, not a shape error.
 */
export const signatureInput = hex(/^0x([0-9a-fA-F]{2}){0,1024}$/, 'hex bytes, at most 1,024 of them');

/** An order of these types. Describes each field except `making` and `taking`, which the order's text describes. */
function orderShape<Q extends z.ZodType, A extends z.ZodType, T extends z.ZodType>(quantity: Q, address: A, amount: T) {
  return {
    salt: quantity.describe('A random number, in hex: it makes orders of the same terms different orders'),
    nonce: quantity.describe("The maker's nonce on the chain, in hex. An order with another one is cancelled"),
    expiresAt: quantity.describe(
      'Unix seconds (not milliseconds), in hex. From then on the order is invalid for good. Routers stop getting it 60 s earlier',
    ),
    making: amount,
    taking: amount,
    maker: address.describe('The address that signs, or a contract that accepts the signature'),
    permittedTaker: address.describe('The zero address: anyone may fill'),
  };
}

const amounts = '`making` is what the maker sells, and `taking` what it wants for all of it';

const tokenAmountInput = z
  .strictObject({ token: addressInput, amount: quantityInput })
  .meta({ id: 'TokenAmountInput', description: 'An amount of an ERC-20 token, in its smallest unit' });

/** An order as a maker posts it. Unknown fields are not allowed: they would not be signed. */
export const orderInput = z
  .strictObject(orderShape(quantityInput, addressInput, tokenAmountInput))
  .meta({ id: 'OrderInput', description: `The order as its maker signed it. ${amounts}` });

/** One item of a POST. */
export const placementInput = z
  .strictObject({
    order: orderInput,
    signature: signatureInput.describe("The maker's signature over the order, in hex"),
  })
  .meta({ id: 'Placement' });

/** The body of a POST. How many items it may have is a setting; more are refused with `too_many_orders`. */
export const placementInputs = z.array(placementInput).min(1);

/** One item of the body of POST …/cancellations. */
export const cancellationInput = z
  .strictObject({
    orderHash: orderHashInput.describe('The order to cancel: its hash, in hex'),
    signature: signatureInput.describe("The maker's signature over `OrderCancellationRequest`, in hex"),
    salt: quantityInput
      .optional()
      .describe(
        "The salt of the signed domain: the order's own. With it a cancellation by the maker's own key works in any outage except Kafka's",
      ),
    expiresAt: quantityInput
      .optional()
      .describe(
        "The order's own `expiresAt`, in hex. If the service does not know the order, it remembers the cancellation until then, and without it for good",
      ),
  })
  .meta({ id: 'CancellationInput' });

/** The body of POST …/cancellations. How many items it may have is a setting. */
export const cancellationInputs = z
  .array(cancellationInput, { error: 'must be an array of `orderHash` and `signature`' })
  .min(1, { error: 'must hold at least one item' });

/** The other body: it names all orders of a maker that have one of some salts. A setting limits the salts. */
export const saltCancellationInput = z
  .strictObject({
    maker: addressInput.describe('The maker whose orders they are'),
    salts: z.array(quantityInput).min(1).describe('The salts that the maker gave its orders, in hex'),
    untilMs: time(
      'milliseconds',
      'Orders with these salts that were accepted by then are cancelled, in milliseconds since 1970',
    ),
    signature: signatureInput.describe(
      'Over `CancelBySaltRequest`, in the domain of orders, by the maker or a key that may cancel for it',
    ),
  })
  .meta({ id: 'SaltCancellationInput' });

/** The body of POST …/cancellations. */
export const cancellationBody = z.union([cancellationInputs, saltCancellationInput]);

/** A uint256 as it is sent: minimal lowercase hex. */
export const sentQuantity = hex(/^0x(0|[1-9a-f][0-9a-f]{0,63})$/, 'a uint256 in minimal lowercase hex');
/** An address as it is sent. */
export const sentAddress = hex(/^0x[0-9a-f]{40}$/, 'a 20-byte address in lowercase hex');
const orderHash = hex(/^0x[0-9a-f]{64}$/, 'the EIP-712 digest that the maker signed, in lowercase hex');
const signature = hex(/^0x([0-9a-f]{2}){0,1024}$/, "the maker's signature as it was posted, in lowercase hex");

const tokenAmount = z
  .object({ token: sentAddress, amount: sentQuantity })
  .meta({ id: 'TokenAmount', description: 'An amount of an ERC-20 token, in its smallest unit' });

const order = z
  .object(orderShape(sentQuantity, sentAddress, tokenAmount))
  .meta({ id: 'Order', description: `The order as it was posted. Partial fills do not change it. ${amounts}` });

/** There while a maker's cap keeps its order from routers. */
export const cappedUntil = z
  .int()
  .positive()
  .optional()
  .describe(
    "There while a cap of the maker (POST …/fill-cap) keeps the order out of the router's feed. The order comes back with the first block of this time or later, in Unix seconds",
  );

/** The second from which routers no longer get an order. */
export const routableUntil = z
  .int()
  .nonnegative()
  .describe(
    'The second, since 1970, from which routers no longer get the order: `expiresAt` less the grace period of 60 s. An order that is posted later is never routed',
  );

/** An order, its name and its signature. */
export const orderRecord = { order, orderHash, signature };

const recordBase = {
  ...orderRecord,
  remainingMakingAmount: sentQuantity
    .optional()
    .describe('What is left to fill of the making amount; left out while nothing of the order is filled'),
  routableUntil: routableUntil.optional(),
  cappedUntil,
};

const validatingRecord = z
  .object({
    ...recordBase,
    status: z
      .literal('VALIDATING')
      .describe('Accepted, and not read on the chain yet, or its contract wallet does not accept its signature'),
  })
  .meta({ id: 'ValidatingOrder' });

/** The answer to POST: every stored order begins as VALIDATING. */
export const validatingRecords = z.array(validatingRecord);

/** One item of the answer to POST and GET. Only an INACTIVE order has a reason. */
export const limitOrderRecord = z
  .discriminatedUnion('status', [
    validatingRecord,
    z
      .object({ ...recordBase, status: z.literal('ACTIVE').describe('It could be filled at the last block') })
      .meta({ id: 'ActiveOrder' }),
    z
      .object({
        ...recordBase,
        status: z.literal('INACTIVE').describe('The funds of the maker do not cover it; it waits for them'),
        reason: z
          .enum(['INSUFFICIENT_ALLOWANCE', 'INSUFFICIENT_BALANCE'])
          .describe('What does not cover it; the allowance if both do not'),
      })
      .meta({ id: 'InactiveOrder' }),
  ])
  .meta({ id: 'LimitOrderRecord' });

/** The answer to GET, in the order of acceptance. */
export const limitOrderRecords = z.array(limitOrderRecord);

/**
 * The answer to DELETE and to POST …/cancellations: one item per hash, in the order of the request. If the request
 * names salts, one for each order that had one of them.
 */
export const cancellations = z.array(
  z
    .object({
      orderHash,
      status: z
        .enum(['CANCELLED', 'NOT_FOUND'])
        .describe('`NOT_FOUND`: no open order has the hash, and none can get it later'),
    })
    .meta({ id: 'Cancellation' }),
);

/** One order to cancel, in the body of POST …/replacements. */
const replacedInput = cancellationInput
  .omit({ expiresAt: true })
  .extend({
    remainingMakingAmount: quantityInput
      .optional()
      .describe(
        'What the maker believes to be left of the order, in hex. If the service has seen another amount, nothing happens. Without it: all of the making amount',
      ),
  })
  .meta({ id: 'ReplacedInput' });

/** The list of the orders to cancel, in the body of POST …/replacements. */
export const replacedInputs = z
  .array(replacedInput, { error: 'must be an array of `orderHash` and `signature`' })
  .min(1, { error: 'must hold at least one item' });

/** Salts instead of that list: cancels all orders of the maker that have one of them. */
export const replacedSaltsInput = saltCancellationInput
  .extend({
    remainingMakingAmount: quantityInput
      .optional()
      .describe(
        'What the maker believes to be left of all of them together, in hex. If the service has seen another amount, nothing happens. Without it: all of the making amount of each',
      ),
  })
  .meta({ id: 'ReplacedSaltsInput' });

/** The body of POST …/replacements. How many items each list may have is a setting. */
export const replacementInput = z
  .strictObject({
    cancel: z
      .union([replacedInputs, replacedSaltsInput])
      .describe('The orders to cancel, as in POST …/cancellations, and what is left of them'),
    place: placementInputs.describe('The orders to place, as in POST; all of the same maker'),
  })
  .meta({ id: 'ReplacementInput' });

/** The two parts of that body. Read each one as in the request that has only that part. */
export const replacementLists = z.strictObject({ cancel: z.unknown(), place: z.unknown() });

/** The answer to POST …/replacements: both lists in the order of the request. */
export const replacement = z
  .object({ cancelled: cancellations, placed: validatingRecords })
  .meta({ id: 'Replacement' });

export type Replacement = z.infer<typeof replacement>;
export type PlacementInput = z.infer<typeof placementInput>;
export type LimitOrderRecord = z.infer<typeof limitOrderRecord>;
export type Cancellation = z.infer<typeof cancellations>[number];
