import { readFileSync } from 'node:fs';
import { Ajv } from 'ajv';
import type { TopicNames } from '../topics.js';

/** A message as it is in Kafka. A key that is missing may be null or empty. */
export interface PublishedMessage {
  readonly key: string | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly value: Buffer | null;
}

/** @returns what is wrong with a message of the topic; undefined if it is as published */
export type MessageCheck = (topic: keyof TopicNames, message: PublishedMessage) => string | undefined;

interface Document {
  readonly channels: Readonly<Record<string, { readonly messages: object }>>;
  readonly components: {
    readonly messages: Readonly<Record<string, { readonly contentType: string }>>;
    readonly schemas: Readonly<Record<string, object>>;
  };
}

/** The published AsyncAPI document. */
export function readAsyncApi(): Document {
  return JSON.parse(readFileSync(new URL('../../asyncapi.json', import.meta.url), 'utf8'));
}

/**
 * Checks messages against the published AsyncAPI document: headers, key and data.
 * @param unknownFields whether data may have fields that the document does not know. Readers allow them. This version
 * sends none.
 */
export function openMessageCheck(unknownFields: 'allowed' | 'refused'): MessageCheck {
  const document = readAsyncApi();
  const { channels, components } = document;
  const ajv = new Ajv({ strict: false });
  ajv.addSchema(unknownFields === 'allowed' ? document : closeObjects(document), 'asyncapi');
  const faultOf = (place: string, value: unknown): string | undefined => {
    const validate = ajv.getSchema(`asyncapi#/components/messages/${place}`);
    if (validate === undefined) throw new Error(`asyncapi.json has no ${place}`);
    return validate(value) ? undefined : `${place}: ${ajv.errorsText(validate.errors)}`;
  };
  return (topic, { key, headers, value }) => {
    const names = Object.keys(channels[topic]?.messages ?? {});
    const name = names.find((one) => faultOf(`${one}/headers`, headers) === undefined);
    if (name === undefined) return `no message of ${topic} has the headers ${JSON.stringify(headers)}`;
    const isJson = components.messages[name]?.contentType === 'application/json';
    const data: unknown = value !== null && isJson ? JSON.parse(value.toString('utf8')) : null;
    return faultOf(`${name}/bindings/kafka/key`, key) ?? faultOf(`${name}/payload`, data);
  };
}

/** Returns the document with closed data: a message has no fields other than the named ones. Headers stay open. */
function closeObjects(document: Document): Document {
  const isHeaders = (name: string) => name === 'CloudEvent' || name === 'FeedEvent';
  const schemas = Object.entries(document.components.schemas).map(([name, schema]) => [
    name,
    isHeaders(name) ? schema : closeObject(schema),
  ]);
  return { ...document, components: { ...document.components, schemas: Object.fromEntries(schemas) } };
}

function closeObject(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closeObject);
  if (typeof schema !== 'object' || schema === null) return schema;
  const closed = Object.fromEntries(Object.entries(schema).map(([name, inner]) => [name, closeObject(inner)]));
  return closed['type'] === 'object' ? { ...closed, additionalProperties: false } : closed;
}
