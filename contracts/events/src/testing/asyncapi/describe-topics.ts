import { makerEvent } from '../../maker-events.js';
import { type TopicNames, topicNames, topicSpecs } from '../../topics.js';
import type { GoldenMessage } from '../index.js';
import { describeData, type Schema } from './describe-data.js';
import { describeMessages, headerSchemas, type MessageName } from './describe-messages.js';

/** The default of the setting `PARTITIONS`. */
const PARTITIONS = 12;

const partitionOfMaker = `The default partitioner of Kafka chooses the partition by the maker's address: \
\`(murmur2(key) & 0x7fffffff) mod partitions\` over the key's UTF-8 bytes, \`murmur2_random\` in librdkafka.`;

interface TopicText {
  readonly title: string;
  readonly description: string;
  readonly messages: readonly MessageName[];
}

const texts: Readonly<Record<keyof TopicNames, TopicText>> = {
  makerEvents: {
    title: 'The log',
    description: `Every fact about a maker, keyed by maker. ${partitionOfMaker} A maker never moves, so all its facts have \
one order. A fact about the whole partition has no key and goes to every partition. One about the whole service has no key and is \
in partition 0.`,
    messages: makerEvent.options.map((option) => option.shape.type.value),
  },
  book: {
    title: "The router's feed",
    description: `All open orders, record by record: an entry replaces what is known of its order hash, a tombstone takes the \
order out, and \`clock:<partition>\` names the block up to which the partition is complete. Each message is published once, and \
positions never go back. Tombstones are kept for \`delete.retention.ms\`: a reader that was down for longer starts from the \
beginning. A record is in the partition of its order's maker in the log, **not** in the one of its own key: read \
all partitions.`,
    messages: ['BookEntry', 'BookEntryRemoved', 'BookClock'],
  },
  fills: {
    title: 'Fills',
    description: `Every fill of an order of a maker that the service knows, also of an order that has ended or was never posted \
here, keyed \`<blockNumber>:<logIndex>\`. Blocks are final, so a fill is never taken back. A record is in the partition of its \
maker in the log, and the fills of a maker come in the order of the chain. A key that comes twice is the same fill: count it \
once.`,
    messages: ['Fill'],
  },
  makers: {
    title: "The makers' feed",
    description: `What the services know of each maker, keyed by maker, and what the whole service does, keyed \`service\`. ${partitionOfMaker}`,
    messages: ['MakerView', 'ServiceView'],
  },
  acks: {
    title: 'Acknowledgements of routers',
    description:
      'A router may say how far it has applied the book: one message for each clock, keyed by router and partition. Ingress waits for it if a maker asks (`Prefer: wait=N; by=router`).',
    messages: ['BookAcknowledged'],
  },
  parked: {
    title: 'Parked messages',
    description:
      'It has the messages that a service could not handle, with the reason, and what an operator decided. It is for people: no service depends on it.',
    messages: ['Parked', 'ParkedResolved'],
  },
};

/**
 * Describes the topics as an AsyncAPI 3.0 document: keys, headers, data, partitions and retention.
 * @param golden messages with the names of their files, shown as examples
 */
export function describeTopics(golden: readonly (readonly [file: string, GoldenMessage])[]): object {
  const names = topicNames();
  const specs = topicSpecs(names, PARTITIONS);
  const topics = (Object.keys(texts) as (keyof TopicNames)[]).flatMap((id) =>
    specs.filter(({ name }) => name === names[id]).map((spec) => ({ id, spec, text: texts[id] })),
  );
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'Makerbook',
      version: '1.0.0',
      description: `The Kafka topics of Makerbook. Read them with \`isolation.level=read_committed\`: records of aborted \
transactions must not count. A topic's name may have a prefix, one for the deployment. The number of partitions is a setting of \
the deployment and fixed for the life of its topics.\n\nWithin \`v1\` fields may be added, never changed or removed: \
ignore fields that you do not know. The guide for routers is \`README.md\` beside this file.`,
    },
    defaultContentType: 'application/json',
    servers: {
      kafka: {
        host: '{bootstrap}',
        protocol: 'kafka-secure',
        description: 'The brokers. A local stack has them without TLS.',
        variables: { bootstrap: { description: 'host:port of one of them, from the operator' } },
        security: [{ $ref: '#/components/securitySchemes/certificate' }],
      },
    },
    channels: Object.fromEntries(
      topics.map(({ id, text, spec }) => [
        id,
        {
          address: spec.name,
          title: text.title,
          description: text.description,
          messages: Object.fromEntries(
            text.messages.map((message) => [message, { $ref: `#/components/messages/${message}` }]),
          ),
          bindings: {
            kafka: {
              topic: spec.name,
              partitions: spec.partitions,
              topicConfiguration: topicConfiguration(spec.config),
              bindingVersion: '0.5.0',
            },
          },
          'x-isolation-level': 'read_committed',
        },
      ]),
    ),
    operations: Object.fromEntries(
      topics.flatMap(({ id, text }) =>
        ['send', 'receive'].map((action) => [
          `${action}-${id}`,
          { action, title: text.title, channel: { $ref: `#/channels/${id}` } },
        ]),
      ),
    ),
    components: {
      messages: describeMessages(golden),
      schemas: { ...headerSchemas, ...describeData() },
      securitySchemes: {
        certificate: {
          type: 'X509',
          description:
            'A client certificate, or SASL if the operator has set that up. A router reads the book, and may write acknowledgements.',
        },
      },
    },
  };
}

/** Writes the settings as the Kafka binding has them: numbers, and a list of policies. */
function topicConfiguration(config: Readonly<Record<string, string>>): Schema {
  return Object.fromEntries(
    Object.entries(config).map(([name, value]) => {
      const number = Number(value);
      return [name, name === 'cleanup.policy' ? value.split(',') : Number.isNaN(number) ? value : number];
    }),
  );
}
