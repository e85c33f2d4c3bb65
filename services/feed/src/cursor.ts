import type { MessageId } from '@makerbook/book';

/** How far a client has read: the last message of each partition, or undefined if there was none. */
export type Cursor = readonly (MessageId | undefined)[];

/** A cursor, and the name of its log. The name is undefined until a clock of partition 0 has told it. */
export interface NamedCursor {
  readonly log: string | undefined;
  readonly cursor: Cursor;
}

const NONE = '-';

/** Formats a cursor for clients: `<offset>:<index>` of each partition, in order, and the log's name. `-` means none. */
export function formatCursor({ log = NONE, cursor }: NamedCursor): string {
  return `${cursor.map((id) => (id === undefined ? NONE : `${id.offset}:${id.index}`)).join(',')}:${log}`;
}

/** Parses a cursor in the form of the interface. @returns undefined if it has another number of partitions */
export function parseCursor(text: string, partitions: number): NamedCursor | undefined {
  const nameAt = text.lastIndexOf(':');
  const items = text.slice(0, nameAt).split(',');
  if (items.length !== partitions) return undefined;
  const log = text.slice(nameAt + 1);
  const cursor = items.map((item) => {
    const [offset = '', index] = item.split(':');
    return index === undefined ? undefined : { offset: BigInt(offset), index: Number(index) };
  });
  return { log: log === NONE ? undefined : log, cursor };
}

/** The cursor behind one more message. */
export function moveTo(cursor: Cursor, partition: number, id: MessageId): Cursor {
  return cursor.with(partition, id);
}

/** True if `cursor` has read everything that `other` has read. */
export function covers(cursor: Cursor, other: Cursor): boolean {
  return other.every((id, partition) => id === undefined || !isBehind(id, cursor[partition]));
}

/**
 * True if a cursor has read more of a partition than was read here. Does not count partitions of which nothing was read
 * here, because all of their records may have been deleted since.
 */
export function isAhead(cursor: Cursor, here: Cursor): boolean {
  return cursor.some(
    (id, partition) => id !== undefined && here[partition] !== undefined && isBehind(id, here[partition]),
  );
}

/** True if the message comes after all that was read of its partition. */
export function isBehind(id: MessageId, read: MessageId | undefined): boolean {
  return read === undefined || id.offset > read.offset || (id.offset === read.offset && id.index > read.index);
}
