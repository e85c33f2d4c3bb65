import { readFileSync } from 'node:fs';
import type { SegmentRecord } from '../blocks/join-segments.js';
import type { SourceBlock } from '../blocks/source.js';

/** A message of a Kaia node's own publishing code, as it was in Kafka; `golden/blockgroups.json` (see the README). */
export interface GoldenBlockgroup {
  readonly name: string;
  /** Its segments, in the order in which they were written. */
  readonly records: readonly SegmentRecord[];
  /** The block out of the node's own objects, with those of its logs that can touch anybody. */
  readonly expected: SourceBlock;
  /** The node's JSON-RPC answers for the same block: `eth_getBlockByNumber`, and all logs in the form of `eth_getLogs`. */
  readonly rpc: { readonly block: unknown; readonly logs: unknown };
}

interface Stored extends Omit<GoldenBlockgroup, 'records'> {
  /** Header values in hex, in their order; values in base64. */
  readonly records: readonly {
    readonly partition: number;
    readonly key: string;
    readonly headers: readonly (readonly [name: string, value: string])[];
    readonly value: string;
  }[];
}

export function readGoldenBlockgroups(): readonly GoldenBlockgroup[] {
  const file = new URL('../../golden/blockgroups.json', import.meta.url);
  const stored = JSON.parse(readFileSync(file, 'utf8')) as readonly Stored[];
  return stored.map((message) => ({
    ...message,
    records: message.records.map(({ partition, key, headers, value }) => ({
      partition,
      key,
      value: Buffer.from(value, 'base64'),
      headers: Object.fromEntries(headers.map(([name, hex]) => [name, Buffer.from(hex, 'hex').toString('latin1')])),
    })),
  }));
}
