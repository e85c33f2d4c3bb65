import { bookRemovalReason } from '../../feeds.js';
import { ceType } from '../../messages.js';
import type { GoldenMessage } from '../index.js';
import { type DataType, type Schema, schemaRef } from './describe-data.js';

/** The name of a message in the document. There is one for every message of every topic. */
export type MessageName = DataType | 'BookEntryRemoved' | 'Parked' | 'ParkedResolved';

const none: Schema = { type: 'null' };
const text = (description: string): Schema => ({ type: 'string', description });
const decimal = (description: string): Schema => ({ type: 'string', pattern: '^(0|[1-9][0-9]*)$', description });

const makerKey: Schema = { allOf: [schemaRef('Address')], description: 'The maker.' };
const orderKey: Schema = { allOf: [schemaRef('Bytes32')], description: 'The order hash.' };
const noKey: Schema = { type: ['string', 'null'], maxLength: 0, description: 'No key, or an empty one.' };
const clockKey: Schema = {
  type: 'string',
  pattern: '^clock:(0|[1-9][0-9]*)$',
  description: '`clock:<partition>`, with the partition that the record is in.',
};
const fillKey: Schema = {
  type: 'string',
  pattern: '^(0|[1-9][0-9]*):(0|[1-9][0-9]*)$',
  description: '`<blockNumber>:<logIndex>`.',
};
const routerKey: Schema = {
  type: 'string',
  pattern: '^[A-Za-z0-9_.-]{1,64}:(0|[1-9][0-9]*)$',
  description: '`<router>:<partition>`, with the partition of the clock.',
};
const serviceKey: Schema = { const: 'service' };
const sourceKey: Schema = { type: ['string', 'null'], description: 'The key that the message had.' };

/** Schemas of keys, for messages that are not keyed by their maker. */
const otherKeys: Readonly<Partial<Record<MessageName, Schema>>> = {
  ServiceModeSet: noKey,
  BlockProcessed: noKey,
  WatcherResigned: noKey,
  BookEntry: orderKey,
  BookEntryRemoved: orderKey,
  BookClock: clockKey,
  Fill: fillKey,
  ServiceView: serviceKey,
  BookAcknowledged: routerKey,
  Parked: sourceKey,
  ParkedResolved: sourceKey,
};

const summaries: Readonly<Record<MessageName, string>> = {
  OrderSubmitted: 'An order was accepted.',
  OrderCancelled:
    'The maker cancelled an order with the service. It may come before its `OrderSubmitted`, or without one: such an order is never open.',
  OrdersCancelled:
    'The maker cancelled all its orders of some tokens that were accepted by a time. One that comes later is never open.',
  SwitchSet:
    "The maker's dead-man's switch: its orders are cancelled once the partition's clock reaches `cancelAt`, unless a newer switch came first.",
  CancelKeysSet: 'These addresses may cancel for the maker or read for it, and no others.',
  FillCapSet:
    'If more than `amount` of the token is filled within a window, the orders of the maker that sell it leave the book until the window has passed.',
  MakerObserved:
    'The state of a maker as read at one block, judged as a whole. Values are absolute: a repeat changes nothing. It does not count if the partition has processed a newer block.',
  MakerAdmitted:
    'An operator put the maker on the whitelist. Its open orders that are still valid come back into the book.',
  MakerSuspended: "An operator paused the maker's access. Its open orders leave the book and stay listed.",
  MakerRemoved: 'An operator took the maker off the whitelist. Its open orders leave the book and stay listed.',
  MakerLimitsSet: 'An operator gave the maker limits of its own. They replace all that it had.',
  QuarantineLifted: 'An operator lets the service process the maker again, from the fact that failed.',
  ServiceModeSet: 'In partition 0: an operator decided what the whole service does from here on.',
  BlockProcessed:
    'In every partition, after each block: all facts of this and earlier blocks about the makers of the partition come before.',
  WatcherResigned:
    'In partition 0: the chain-watcher that published has stopped, and another one may take over at once.',
  BookEntry:
    'An open order as the router may use it. It replaces what is known of its key. Only an `ACTIVE` one can be filled.',
  BookEntryRemoved: 'A tombstone: the order is out of the book. Its headers say why.',
  BookClock:
    'Once for each block, in every partition: the partition of the book is complete up to this block, and up to the facts before `position` in the log.',
  Fill: 'An order was filled, in full or in part, as the contract logs it (`OrderFilled`).',
  MakerView:
    'What ingress and query know of a maker. `nonce` is the highest that was read from the chain, null before the first reading.',
  ServiceView: 'What the whole service does. `CANCEL_ONLY`: no order is placed. Without a record it is `NORMAL`.',
  BookAcknowledged:
    'A router has applied its book up to the clock of a partition that has this `position`: it no longer uses orders that left the book before.',
  Parked:
    'A message that could not be handled, or a batch that could not be decoded (`parked-next-offset`): its key, its headers and its bytes.',
  ParkedResolved: 'An operator dealt with a parked message.',
};

const headersOfFeed = schemaRef('FeedEvent');
const parkedOrigin = {
  'parked-topic': text('The topic of the message that could not be handled.'),
  'parked-partition': decimal('Its partition.'),
  'parked-offset': decimal('Its offset.'),
};
const typeOf = (name: MessageName): Schema => ({ const: ceType(name), description: 'What the message is.' });

/** The header schemas that several messages refer to. */
export const headerSchemas: Readonly<Record<'CloudEvent' | 'FeedEvent', Schema>> = {
  CloudEvent: {
    type: 'object',
    description: 'CloudEvents 1.0 in the binary mode of its Kafka binding: attributes and the W3C trace in headers.',
    required: ['ce_specversion', 'ce_id', 'ce_type', 'ce_source', 'ce_time', 'content-type'],
    properties: {
      ce_specversion: { const: '1.0', description: 'The version of CloudEvents.' },
      ce_id: { type: 'string', minLength: 1, description: 'Unique with `ce_source`; a repeat of a fact has the same.' },
      ce_type: { type: 'string', description: 'What the message is.' },
      ce_source: { type: 'string', pattern: '^/makerbook/', description: 'The service that wrote it.' },
      ce_time: {
        type: 'string',
        pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z$',
        description: 'When it happened. For a fact read at a block: the time of the block.',
      },
      'content-type': { const: 'application/json', description: 'The type of the value.' },
      traceparent: {
        type: 'string',
        pattern: '^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$',
        description: 'The trace that the message belongs to (W3C Trace Context).',
      },
      stored_by: decimal(
        'On an order in the log, and on cancellations with it: milliseconds since 1970. Ignore a record that has a later time.',
      ),
      tracestate: text('What vendors add to the trace.'),
      baggage: text('What the trace carries along (W3C Baggage).'),
    },
  },
  FeedEvent: {
    allOf: [schemaRef('CloudEvent')],
    properties: {
      ce_id: {
        type: 'string',
        description:
          '`<partition>:<offset>:<index>`: the place in `limit-orders.maker-events.v1` of the fact that led to the message, and which of its messages it is. It grows with every message of a partition.',
      },
    },
  },
};

/** The messages of the document, keyed by name, with the golden ones as examples. */
export function describeMessages(
  golden: readonly (readonly [file: string, GoldenMessage])[],
): Record<MessageName, Schema> {
  const entries = (Object.keys(summaries) as MessageName[]).map((name) => {
    const examples = golden
      .filter(([, { headers }]) => headers['ce_type'] === ceType(name))
      .map(([file, { headers, value }]) => ({
        name: file.replace(/\.json$/, ''),
        headers,
        payload: value === null ? null : JSON.parse(value),
      }));
    return [name, describeMessage(name, examples)];
  });
  return Object.fromEntries(entries);
}

function describeMessage(name: MessageName, examples: readonly object[]): Schema {
  return {
    name,
    title: ceTypeOf(name) ?? name,
    summary: summaries[name],
    contentType: name === 'Parked' ? 'application/octet-stream' : 'application/json',
    headers: headersOf(name),
    payload: payloadOf(name),
    bindings: { kafka: { key: otherKeys[name] ?? makerKey, bindingVersion: '0.5.0' } },
    ...(examples.length > 0 && { examples }),
  };
}

function ceTypeOf(name: MessageName): string | undefined {
  return name === 'Parked' || name === 'ParkedResolved' ? undefined : ceType(name);
}

function payloadOf(name: MessageName): Schema {
  switch (name) {
    case 'BookEntryRemoved':
    case 'ParkedResolved':
      return none;
    case 'Parked':
      return {
        description: 'The bytes as they were. None if the message had none, or if `parked-value-omitted` is set.',
      };
    default:
      return schemaRef(name);
  }
}

function headersOf(name: MessageName): Schema {
  switch (name) {
    case 'BookEntryRemoved':
      return headersWith(headersOfFeed, {
        ce_type: typeOf(name),
        removal: { enum: bookRemovalReason.options, description: 'Why the order left the book.' },
        maker: { allOf: [schemaRef('Address')], description: 'Whose order it was.' },
        position_partition: decimal('The partition of the log that holds the fact that led to it.'),
        position_offset: decimal('The offset of that fact.'),
      });
    case 'BookEntry':
    case 'BookClock':
    case 'Fill':
    case 'MakerView':
    case 'ServiceView':
      return headersWith(headersOfFeed, { ce_type: typeOf(name) });
    case 'Parked':
      return {
        ...headersWith(undefined, { ...parkedOrigin, 'parked-reason': text('Why it could not be handled.') }),
        not: { required: ['resolution'] },
      };
    case 'ParkedResolved':
      return headersWith(undefined, {
        ...parkedOrigin,
        resolution: { enum: ['replayed', 'discarded'], description: 'What the operator did.' },
      });
    default:
      return headersWith(schemaRef('CloudEvent'), { ce_type: typeOf(name) });
  }
}

function headersWith(base: Schema | undefined, properties: Readonly<Record<string, Schema>>): Schema {
  return { type: 'object', ...(base && { allOf: [base] }), required: Object.keys(properties), properties };
}
