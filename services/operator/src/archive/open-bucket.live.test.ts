import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type S3Part, startS3 } from '@makerbook/parts';
import { ArchiveBroken } from './encode-parts.js';
import { type Archive, addPart, mergeParts, readParts, requireNewest } from './open-archive.js';
import { openBucket } from './open-bucket.js';
import { type ArchiveStore, openFolder } from './open-folder.js';

const folder = mkdtempSync(join(tmpdir(), 'makerbook-s3-'));
let server: S3Part;
beforeAll(async () => {
  server = await startS3('archives', folder);
  Object.assign(process.env, {
    AWS_ENDPOINT_URL_S3: server.url,
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: 'key',
    AWS_SECRET_ACCESS_KEY: 'secret',
  });
});
const opened: ArchiveStore[] = [];
afterAll(async () => {
  for (const store of opened) store.close();
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const stores: readonly (readonly [string, (name: string) => ArchiveStore])[] = [
  ['a bucket', (name) => openBucket(`s3://archives/${name}`)],
  ['a folder', (name) => openFolder(join(folder, name))],
];

describe.each(stores)('%s as the store of an archive', (_, openStore) => {
  const open = (name: string) => {
    const store = openStore(name);
    opened.push(store);
    return store;
  };

  test('lists its files in order, and never changes one', async () => {
    const store = open('files');
    expect(await store.list('')).toEqual([]);
    for (const name of ['b', 'a', 'c']) expect(await store.create(name, Buffer.from([1, 0, 255]))).toBe(true);
    expect(await store.create('b', Buffer.from('other'))).toBe(false);
    expect(await store.read('b')).toEqual(Buffer.from([1, 0, 255]));
    expect(await store.list('')).toEqual(['a', 'b', 'c']);
    expect(await store.list('a')).toEqual(['b', 'c']);
    await store.remove('b');
    expect(await store.list('')).toEqual(['a', 'c']);
    // Another archive lies beside it.
    expect(await open('files-2').list('')).toEqual([]);
  });

  test('accepts a part from only one of two writers, and merges parts while they are read', async () => {
    const archive: Archive = { store: open('parts'), topic: 'log', partitions: 1, key: undefined, headFile: undefined };
    const record = (offset: bigint) => ({
      topic: 'log',
      partition: 0,
      offset,
      timestampMs: Number(offset) + 1,
      key: 'maker',
      value: Buffer.from(`value ${offset}`),
      headers: {},
    });
    const add = (before: Awaited<ReturnType<typeof addPart>> | undefined, offset: bigint) =>
      addPart(archive, before, { to: [offset + 1n], records: [record(offset)] });
    const first = await add(undefined, 0n);
    const second = await add(first, 1n);
    await expect(add(first, 2n)).rejects.toThrow(ArchiveBroken);
    const third = await add(second, 2n);
    // Add it again, as after a lost answer.
    expect(await add(second, 2n)).toEqual(third);
    await add(third, 3n);
    let isMerged = false;
    const read = async (name: string) => {
      if (!isMerged) await mergeParts(archive, 3);
      isMerged = true;
      return archive.store.read(name);
    };
    // Merge while somebody reads.
    const values: string[] = [];
    for await (const part of readParts({ ...archive, store: { ...archive.store, read } }))
      values.push(...part.records('log').map(({ value }) => String(value)));
    expect(values).toEqual(['value 0', 'value 1', 'value 2', 'value 3']);
    const merged = ['000000000001-000000000003.parts', '000000000004-000000000004.parts'];
    expect(await archive.store.list('')).toEqual(merged);
    // A process that was paused before the merge adds nothing.
    await expect(add(first, 2n)).rejects.toThrow(/^part 2 of .* was written by another process$/);
    expect((await requireNewest(archive)).header).toMatchObject({ number: 4, to: ['4'] });
  });
});

test('an address that names no bucket is refused', () => {
  for (const address of ['s3://', 's3://A/b', 's3:bucket'])
    expect(() => openBucket(address)).toThrow(/is not a bucket/);
});
