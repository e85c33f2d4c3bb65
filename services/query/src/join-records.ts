import type { ListedRecord } from '@makerbook/redis';

const OPEN = '['.charCodeAt(0);
const COMMA = ','.charCodeAt(0);
const CLOSE = ']'.charCodeAt(0);

/** A JSON array of records that are serialised already: one allocation, one copy of each. */
export function joinRecords(records: readonly Pick<ListedRecord, 'record'>[]): Buffer {
  const separators = Math.max(0, records.length - 1);
  const bytes = records.reduce((sum, { record }) => sum + record.length, 2 + separators);
  const body = Buffer.allocUnsafe(bytes);
  let at = 0;
  for (const { record } of records) {
    body[at] = at === 0 ? OPEN : COMMA;
    at += 1;
    at += record.copy(body, at);
  }
  if (at === 0) body[at++] = OPEN;
  body[at] = CLOSE;
  return body;
}

/** The same from texts. */
export function joinTexts(records: readonly string[]): Buffer {
  return Buffer.from(`[${records.join(',')}]`);
}
