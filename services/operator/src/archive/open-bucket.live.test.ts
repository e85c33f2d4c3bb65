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
}, 600_000);
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const stores: readonly (readonly [string, (name: string) => ArchiveStore])[] = [
  ['a bucket', (name) => openBucket(`s3://archives/${name}`)],
  ['a folder', (name) => openFolder(join(folder, name))],
];

describe.each(stores)('%s as the store of an archive', (_, open) => {
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
    // Another archive beside it.
    expect(await open('files-2').list('')).toEqual([]);
  });

  test('takes of two that add the same part one, and merges parts', async () => {
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
    await add(second, 2n);
    await mergeParts(archive, 3);
    expect(await archive.store.list('')).toEqual(['000000000001-000000000003.parts']);
    const values: string[] = [];
    for await (const part of readParts(archive)) values.push(...part.records('log').map(({ value }) => String(value)));
    expect(values).toEqual(['value 0', 'value 1', 'value 2']);
    expect((await requireNewest(archive)).header).toMatchObject({ number: 3, to: ['3'] });
  });
});

test('a bucket that is none is refused', () => {
  for (const address of ['s3://', 's3://A/b', 's3:bucket']) expect(() => openBucket(address)).toThrow(/is no bucket/);
});
