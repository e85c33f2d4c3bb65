import type { StoredRecord } from '@makerbook/kafka';

/** The `ce_id` of a feed message: the fact that led to it, and what it says. The same whenever the fact is folded. */
export function messageId(partition: number, offset: bigint, what: string): string {
  return `${partition}:${offset}:${what}`;
}

/** The offset of the fact that led to a message on a feed of the partition; undefined where its id is none of ours. */
export function offsetOfMessage({
  headers,
  partition,
}: Pick<StoredRecord, 'headers' | 'partition'>): bigint | undefined {
  const [, home, offset] = /^(\d+):(\d+):/.exec(headers['ce_id'] ?? '') ?? [];
  return offset === undefined || home !== String(partition) ? undefined : BigInt(offset);
}
