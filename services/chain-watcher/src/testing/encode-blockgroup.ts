import type { LogRecord } from '@makerbook/kafka';
import type { JsonRpcProvider } from 'ethers';

/** Of a block of the chain, as a chaindatafetcher writes it, what is read; `golden/blockgroups.json` has whole ones. */
export async function readBlockgroup(provider: JsonRpcProvider, blockNumber: number): Promise<Buffer> {
  const number = `0x${blockNumber.toString(16)}`;
  const { hash, parentHash, timestamp } = await provider.send('eth_getBlockByNumber', [number, false]);
  const receipts: { logs: object[] }[] = await provider.send('eth_getBlockReceipts', [number]);
  const transactions = receipts.map(({ logs }) => ({ logs }));
  return Buffer.from(JSON.stringify({ blockNumber, result: { number, hash, parentHash, timestamp, transactions } }));
}

/**
 * The records of one message, as a chaindatafetcher cuts it: key, and headers in their order. Without a producer they are of
 * the legacy form, with two headers.
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
