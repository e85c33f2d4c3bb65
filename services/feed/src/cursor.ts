import type { MessageId } from '@makerbook/book';

/** How far somebody has read: by partition the last message; undefined where there was none. */
export type Cursor = readonly (MessageId | undefined)[];

/** As clients have it: `<offset>:<index>` of each partition, in their order, `-` where there was none. */
export function formatCursor(cursor: Cursor): string {
  return cursor.map((id) => (id === undefined ? '-' : `${id.offset}:${id.index}`)).join(',');
}

/** @param text of the form that the interface demands. @returns undefined where it is of another number of partitions */
export function parseCursor(text: string, partitions: number): Cursor | undefined {
  const items = text.split(',');
  if (items.length !== partitions) return undefined;
  return items.map((item) => {
    const [offset = '', index] = item.split(':');
    return index === undefined ? undefined : { offset: BigInt(offset), index: Number(index) };
  });
}

/** The cursor behind one more message. */
export function moveTo(cursor: Cursor, partition: number, id: MessageId): Cursor {
  return cursor.with(partition, id);
}

/** True where nothing lies behind `other` in any partition that does not lie behind `cursor`. */
export function covers(cursor: Cursor, other: Cursor): boolean {
  return other.every((id, partition) => id === undefined || !isBehind(id, cursor[partition]));
}

/** True where the message comes after all that was read of its partition. */
export function isBehind(id: MessageId, read: MessageId | undefined): boolean {
  return read === undefined || id.offset > read.offset || (id.offset === read.offset && id.index > read.index);
}
