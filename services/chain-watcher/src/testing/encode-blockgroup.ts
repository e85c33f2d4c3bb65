import type { LogRecord } from '@makerbook/kafka';
import type { JsonRpcProvider } from 'ethers';

/** A node, asked through an ethers provider. */
export type AskedChain = Pick<JsonRpcProvider, 'send'>;

/**
 * A block of the chain as a chaindatafetcher writes it: its header, and its transactions with their receipts. The
 * fields are those of an Ethereum node: `golden/blockgroups.json` has those of a Kaia node.
 */
export async function readBlockgroup(chain: AskedChain, blockNumber: number): Promise<Buffer> {
  const number = `0x${blockNumber.toString(16)}`;
  const [header, receipts] = await Promise.all([
    chain.send('eth_getBlockByNumber', [number, true]) as Promise<{ readonly transactions: readonly object[] }>,
    chain.send('eth_getBlockReceipts', [number]) as Promise<readonly object[]>,
  ]);
  const transactions = header.transactions.map((transaction, index) => ({ ...transaction, ...receipts[index] }));
  return Buffer.from(JSON.stringify({ blockNumber, result: { ...header, transactions } }));
}

/**
 * Cuts one message into records as a chaindatafetcher does: key, and headers in order. Without a producer the records
 * have the legacy form, with two headers.
 */
export function cutBlockgroup(
  number: number,
  message: Buffer,
  { segmentBytes, producerId }: { readonly segmentBytes: number; readonly producerId: string | undefined },
): Omit<LogRecord, 'topic'>[] {
  const total = Math.max(1, Math.ceil(message.length / segmentBytes));
  return Array.from({ length: total }, (_, index) => ({
    partition: 0,
    key: String(number),
    value: message.subarray(index * segmentBytes, (index + 1) * segmentBytes),
    headers: {
      totalSegments: uint64(total),
      segmentIdx: uint64(index),
      ...(producerId === undefined ? {} : { version: '1.0', producerId }),
    },
  }));
}

/** 8 bytes, big-endian, one character for each byte. */
export function uint64(value: number): string {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(value));
  return bytes.toString('latin1');
}
