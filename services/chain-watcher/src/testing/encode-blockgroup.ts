import type { LogRecord } from '@makerbook/kafka';
import type { JsonRpcProvider } from 'ethers';

/** How a chaindatafetcher cuts a message. */
export interface Cut {
  readonly segmentBytes: number;
  /** Undefined: the legacy form, with two headers. */
  readonly producerId: string | undefined;
}

/** A block of the chain as Kaia's chaindatafetcher writes it: header, transactions, and in each its receipt with logs. */
export async function readBlockgroup(provider: JsonRpcProvider, number: number): Promise<Buffer> {
  const tag = `0x${number.toString(16)}`;
  const block: { transactions: { hash: string }[] } = await provider.send('eth_getBlockByNumber', [tag, true]);
  const receipts: { transactionHash: string }[] = await provider.send('eth_getBlockReceipts', [tag]);
  const transactions = block.transactions.map((transaction) => ({
    ...transaction,
    ...receipts.find(({ transactionHash }) => transactionHash === transaction.hash),
  }));
  return Buffer.from(JSON.stringify({ blockNumber: number, result: { ...block, transactions } }));
}

/** The records of one message, in the documented format: key, and headers in their order. */
export function cutBlockgroup(
  number: number,
  message: Buffer,
  { segmentBytes, producerId }: Cut,
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
