import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { headerOf, logsOf } from '@makerbook/chain';
import { triggerTopics } from '../watch/match-logs.js';
import { SegmentJoiner, type SegmentRecord } from './join-segments.js';
import { parseBlockgroup } from './parse-blockgroup.js';
import type { SourceBlock } from './source.js';

interface StoredMessage {
  readonly name: string;
  /** The records in the order written: header values in hex, values in base64. */
  readonly records: readonly {
    readonly partition: number;
    readonly key: string;
    readonly headers: readonly (readonly [name: string, value: string])[];
    readonly value: string;
  }[];
  /** The block built from the node's own objects, with only the logs that can touch a maker. */
  readonly expected: Omit<SourceBlock, 'logsBloom'>;
  /** The node's answers for the same block: `eth_getBlockByNumber`, and all logs in the form of `eth_getLogs`. */
  readonly rpc: { readonly block: unknown; readonly logs: unknown };
}

/** Messages as they were in Kafka, from a Kaia node's own publishing code and from a running node. See KAIA.md. */
const stored = ['blockgroups.json', 'blockgroups-kaia-2.2.1.json'].flatMap((file): readonly StoredMessage[] =>
  JSON.parse(readFileSync(new URL(`../../golden/${file}`, import.meta.url), 'utf8')),
);
const golden = stored.map((message) => ({
  ...message,
  records: message.records.map(({ value, headers, ...record }): SegmentRecord => {
    const texts = headers.map(([name, hex]) => [name, Buffer.from(hex, 'hex').toString('latin1')]);
    return { ...record, value: Buffer.from(value, 'base64'), headers: Object.fromEntries(texts) };
  }),
}));

/** Joins records into messages, in the order in which the messages become complete. */
function join(records: readonly SegmentRecord[], joiner = new SegmentJoiner()): Buffer[] {
  const messages: Buffer[] = [];
  for (const record of records) {
    const message = joiner.add(record);
    if (message === undefined) continue;
    if (!Buffer.isBuffer(message)) throw new Error(message.unreadable);
    messages.push(message);
  }
  return messages;
}

describe('a message that a Kaia node has published', () => {
  test.each(golden)('($name) is read as the block that the node’s JSON-RPC returns', ({ records, expected, rpc }) => {
    const logs = logsOf(rpc.logs).filter(({ topics: [first] }) => first !== undefined && triggers.has(first));
    const { logsBloom } = rpc.block as { logsBloom: string };
    expect(join(records).map(parseBlockgroup)).toEqual([{ ...expected, logsBloom }]);
    expect(expected).toEqual({ header: headerOf(rpc.block), logs });
  });
});

describe('a blockgroup', () => {
  const hash = `0x${'aa'.repeat(32)}`;
  const header = { number: '0x7', hash, parentHash: `0x${'bb'.repeat(32)}`, timestamp: '0x10' };
  const written = (result: object, blockNumber = 7) => JSON.stringify({ blockNumber, result });
  const log = {
    address: `0x${'11'.repeat(20)}`,
    topics: [triggerTopics[0]],
    data: '0x',
    blockNumber: '0x7',
    transactionHash: `0x${'cc'.repeat(32)}`,
    blockHash: hash,
    logIndex: '0x0',
  };

  const otherBlock = { ...log, blockHash: `0x${'dd'.repeat(32)}` };
  test.each([
    ['is no JSON', 'x', /JSON/],
    ['is null', 'null', /null/],
    ['has no result', '{"blockNumber":7}', /header/],
    ['names another number', written({ ...header, transactions: [] }, 8), /blockNumber 8/],
    ['has no transactions', written(header), /no list of transactions/],
    ['has null for transactions', written({ ...header, transactions: null }), /no list of transactions/],
    ['lacks a receipt', written({ ...header, transactions: [null] }), /logs that are not a list/],
    ['has a transaction without logs', written({ ...header, transactions: [{}] }), /logs that are not a list/],
    ['has logs that are none', written({ ...header, transactions: [{ logs: 1 }] }), /logs that are not a list/],
    ['has a log of another block', written({ ...header, transactions: [{ logs: [otherBlock] }] }), /another block/],
  ])('that %s is unreadable', (_what, text, reason) => {
    expect(parseBlockgroup(Buffer.from(text))).toEqual({ unreadable: expect.stringMatching(reason) });
  });

  test('has the logs of its transactions, or none', () => {
    const parse = (...transactions: object[]) => parseBlockgroup(Buffer.from(written({ ...header, transactions })));
    expect(parse()).toMatchObject({ header: { number: 7, timestamp: 16 }, logs: [] });
    expect(parse({ logs: [] }, { logs: [log] })).toMatchObject({ header: { number: 7 }, logs: [{ logIndex: 0 }] });
  });
});

const triggers: ReadonlySet<string> = new Set(triggerTopics);
