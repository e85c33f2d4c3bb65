import { createReadStream, createWriteStream, existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { lineOf, parseLine, type RecordedRecord } from '@makerbook/book';

/** Reads a recorded feed: gzipped lines of JSON. */
export async function* readFeedFile(file: string): AsyncGenerator<RecordedRecord> {
  const unpacked = createGunzip();
  const unpacking = pipeline(createReadStream(file), unpacked);
  unpacking.catch((error: Error) => unpacked.destroy(error));
  for await (const line of createInterface({ input: unpacked })) yield parseLine(line);
  await unpacking;
}

/** Writes a recorded feed. @throws Error if the file exists already */
export function openFeedFile(file: string) {
  if (existsSync(file)) throw new Error(`${file} is there already`);
  const packed = createGzip();
  const written = pipeline(packed, createWriteStream(file));
  written.catch(() => undefined);
  return {
    /** Writes a record. Waits if the disk is too far behind. */
    async write(record: RecordedRecord): Promise<void> {
      if (packed.write(`${lineOf(record)}\n`)) return;
      await Promise.race([new Promise((resolve) => packed.once('drain', resolve)), written]);
    },
    async close(): Promise<void> {
      packed.end();
      await written;
    },
  };
}
