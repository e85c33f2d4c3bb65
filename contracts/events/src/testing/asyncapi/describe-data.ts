import { z } from 'zod';
import {
  bookAcknowledged,
  bookCause,
  bookClock,
  bookEntry,
  fill,
  fundingView,
  logPosition,
  makerView,
  serviceView,
} from '../../feeds.js';
import { type MakerEvent, makerEvent, observedFunds, observedOrder, orderFill } from '../../maker-events.js';
import {
  address,
  blockRef,
  bytes32,
  cause,
  makerLimits,
  order,
  quantity,
  serviceMode,
  signature,
  tokenAmount,
} from '../../primitives.js';

/** A JSON Schema (draft 07, which AsyncAPI means if no other is named). */
export type Schema = Readonly<Record<string, unknown>>;

/** The type of a message that has a value: the part between `makerbook.` and `.v1` of its `ce_type`. */
export type DataType =
  | MakerEvent['type']
  | 'BookEntry'
  | 'BookClock'
  | 'Fill'
  | 'MakerView'
  | 'ServiceView'
  | 'BookAcknowledged';

/** Parts that several messages share. Each is described once. */
const parts = {
  Address: address,
  Bytes32: bytes32,
  Quantity: quantity,
  Signature: signature,
  TokenAmount: tokenAmount,
  Order: order,
  BlockRef: blockRef,
  Cause: cause,
  ObservedFunds: observedFunds,
  ObservedOrder: observedOrder,
  OrderFill: orderFill,
  LogPosition: logPosition,
  FundingView: fundingView,
  BookCause: bookCause,
  MakerLimits: makerLimits,
  ServiceMode: serviceMode,
};

/** A reference to a schema of the document. */
export const schemaRef = (name: keyof typeof parts | DataType | 'CloudEvent' | 'FeedEvent'): Schema => ({
  $ref: `#/components/schemas/${name}`,
});

/**
 * The schemas of each message's data and of the parts they share, keyed by name. `type` is not in the data: the header
 * `ce_type` carries it. Objects are open because a newer version may add fields.
 */
export function describeData(): Record<string, Schema> {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries({ ...parts, ...dataByType() })) registry.add(schema, { id });
  const { schemas } = z.toJSONSchema(registry, {
    target: 'draft-7',
    io: 'input',
    unrepresentable: 'any',
    uri: (id) => `#/components/schemas/${id}`,
  });
  return Object.fromEntries(
    Object.entries(schemas).map(([name, { $schema: _, $id: __, ...schema }]) => [name, schema as Schema]),
  );
}

function dataByType(): Record<string, z.ZodType> {
  const [validating, active, inactive] = bookEntry.options;
  const data = (schema: z.ZodObject<{ type: z.ZodLiteral<string> }>) => schema.omit({ type: true });
  return {
    ...Object.fromEntries(makerEvent.options.map((option) => [option.shape.type.value, data(option)])),
    BookEntry: z.discriminatedUnion('status', [
      validating.omit({ type: true }),
      active.omit({ type: true }),
      inactive.omit({ type: true }),
    ]),
    BookClock: bookClock.omit({ type: true }),
    Fill: fill.omit({ type: true }),
    MakerView: makerView.omit({ type: true }),
    ServiceView: serviceView.omit({ type: true }),
    BookAcknowledged: bookAcknowledged.omit({ type: true }),
  };
}
