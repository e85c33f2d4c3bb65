import { readdirSync, readFileSync } from 'node:fs';

/** A message as it is in Kafka, frozen in `golden/`. `value` is null in a tombstone. */
export interface GoldenMessage {
  readonly topic: 'maker-events' | 'book' | 'fills' | 'makers' | 'acks';
  readonly key: string | null;
  readonly headers: Record<string, string>;
  readonly value: string | null;
}

const folder = new URL('../../golden/', import.meta.url);

/** Every golden message with the name of its file. */
export function readGoldenMessages(): [file: string, GoldenMessage][] {
  return readdirSync(folder).map((file) => [file, JSON.parse(readFileSync(new URL(file, folder), 'utf8'))]);
}

/** Returns the data as a newer version might send it: each object in it has one more field. */
export function withUnknownFields(data: unknown): unknown {
  if (Array.isArray(data)) return data.map(withUnknownFields);
  if (typeof data !== 'object' || data === null) return data;
  const fields = Object.entries(data).map(([name, value]) => [name, withUnknownFields(value)]);
  return Object.fromEntries([...fields, ['addedLater', { of: ['any', 'kind', 1, null] }]]);
}
