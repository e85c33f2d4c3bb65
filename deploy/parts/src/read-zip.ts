import { inflateRawSync } from 'node:zlib';

const END_OF_DIRECTORY = 0x06054b50;
const DIRECTORY_ENTRY = 0x02014b50;
const STORED = 0;
const DEFLATED = 8;

/**
 * One file out of a zip archive (a jar is one): neither Node.js nor a Java runtime without its JDK can unpack it.
 * Archives of 4 GB and more (ZIP64) are not read.
 * @param matches chooses the file by its name in the archive; the first that matches is taken
 * @returns its bytes, or undefined when no name matches
 */
export function readFileFromZip(archive: Buffer, matches: (name: string) => boolean): Buffer | undefined {
  const end = archive.lastIndexOf(Buffer.from([0x50, 0x4b, 0x05, 0x06]));
  if (end < 0 || archive.readUInt32LE(end) !== END_OF_DIRECTORY) throw new Error('not a zip archive');
  const entries = archive.readUInt16LE(end + 10);
  let at = archive.readUInt32LE(end + 16);
  for (let index = 0; index < entries; index += 1) {
    if (archive.readUInt32LE(at) !== DIRECTORY_ENTRY) throw new Error('the directory of the zip archive is broken');
    const nameLength = archive.readUInt16LE(at + 28);
    const name = archive.toString('utf8', at + 46, at + 46 + nameLength);
    if (matches(name)) return readEntry(archive, at);
    at += 46 + nameLength + archive.readUInt16LE(at + 30) + archive.readUInt16LE(at + 32);
  }
  return undefined;
}

function readEntry(archive: Buffer, at: number): Buffer {
  const method = archive.readUInt16LE(at + 10);
  const packedLength = archive.readUInt32LE(at + 20);
  // The lengths of name and extra field stand twice and may differ: the data begins after those of the local header.
  const header = archive.readUInt32LE(at + 42);
  const start = header + 30 + archive.readUInt16LE(header + 26) + archive.readUInt16LE(header + 28);
  const packed = archive.subarray(start, start + packedLength);
  if (method === STORED) return Buffer.from(packed);
  if (method === DEFLATED) return inflateRawSync(packed);
  throw new Error(`the zip archive uses compression method ${method}, which is not read here`);
}
