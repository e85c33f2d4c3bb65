import { deflateRawSync } from 'node:zlib';
import { describe, expect, test } from '@jest/globals';
import { readFileFromZip } from './read-zip.js';

describe('reading a file from a zip archive', () => {
  const archive = zip([
    { name: 'stored.txt', content: 'as it is', method: 0 },
    { name: 'folder/deflated.txt', content: 'again and again and again', method: 8 },
    { name: 'odd.txt', content: 'odd', method: 12 },
  ]);

  test('takes stored and deflated files by name', () => {
    expect(readFileFromZip(archive, (name) => name === 'stored.txt')?.toString()).toBe('as it is');
    expect(readFileFromZip(archive, (name) => name.endsWith('/deflated.txt'))?.toString()).toBe(
      'again and again and again',
    );
  });

  test('finds nothing where no name matches', () => {
    expect(readFileFromZip(archive, () => false)).toBeUndefined();
  });

  test('refuses what it cannot read', () => {
    expect(() => readFileFromZip(archive, (name) => name === 'odd.txt')).toThrow('compression method 12');
    expect(() => readFileFromZip(Buffer.from('no archive at all'), () => true)).toThrow('not a zip archive');
  });
});

function zip(files: { name: string; content: string; method: number }[]): Buffer {
  const bodies: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { name, content, method } of files) {
    const data = method === 8 ? deflateRawSync(content) : Buffer.from(content);
    const extra = Buffer.from('extra');
    const header = Buffer.alloc(30);
    header.writeUInt32LE(0x04034b50, 0);
    header.writeUInt16LE(method, 8);
    header.writeUInt16LE(name.length, 26);
    header.writeUInt16LE(extra.length, 28);
    const entry = Buffer.alloc(46);
    entry.writeUInt32LE(0x02014b50, 0);
    entry.writeUInt16LE(method, 10);
    entry.writeUInt32LE(data.length, 20);
    entry.writeUInt16LE(name.length, 28);
    entry.writeUInt32LE(offset, 42);
    const body = Buffer.concat([header, Buffer.from(name), extra, data]);
    bodies.push(body);
    directory.push(entry, Buffer.from(name));
    offset += body.length;
  }
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(files.length, 10);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...bodies, ...directory, end]);
}
