import { randomBytes } from 'node:crypto';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  NoSuchKey,
  PutObjectCommand,
  paginateListObjectsV2,
  S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3';
import type { ArchiveStore } from './open-folder.js';

const ADDRESS = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*?))?\/?$/;
/** Without the last setting the client only warns. */
const TIMEOUTS = { connectionTimeout: 5_000, requestTimeout: 30_000, throwOnRequestTimeout: true };
const PROBE = 'conditional-write';

/**
 * Opens a bucket of an S3-compatible store, or its part below a prefix, as the store of an archive. The client reads
 * the variables of AWS: endpoint, region and credentials.
 * @param address `s3://bucket/prefix`
 * @throws Error if the address is invalid
 */
export function openBucket(address: string): ArchiveStore {
  const [, Bucket, path] = ADDRESS.exec(address) ?? [];
  if (Bucket === undefined) throw new Error(`${address} is not a bucket: give s3://bucket or s3://bucket/prefix`);
  const prefix = path ? `${path}/` : '';
  // Self-hosted stores often have no host name for each bucket, so it is in the path.
  const client = new S3Client({ forcePathStyle: true, requestHandler: TIMEOUTS });
  const objectOf = (name: string) => ({ Bucket, Key: prefix + name });
  const read = async (name: string) => {
    try {
      const { Body } = await client.send(new GetObjectCommand(objectOf(name)));
      return Buffer.from((await Body?.transformToByteArray()) ?? []);
    } catch (error) {
      if (error instanceof NoSuchKey) return undefined;
      throw error;
    }
  };
  const create = async (name: string, bytes: Buffer) => {
    try {
      await client.send(new PutObjectCommand({ ...objectOf(name), Body: bytes, IfNoneMatch: '*' }));
      return true;
    } catch (error) {
      if (!(error instanceof S3ServiceException) || error.$metadata.httpStatusCode !== 412) throw error;
      // The answer to an earlier attempt may have been lost.
      return (await read(name))?.equals(bytes) === true;
    }
  };
  let isStrict = false;
  /** Refuses a store without conditional writes: it would take the parts of each of two archivers. */
  const expectStrict = async () => {
    if (isStrict) return;
    await create(PROBE, randomBytes(16));
    isStrict = !(await create(PROBE, randomBytes(16)));
    if (!isStrict) throw new Error(`${address} overwrites a file: its store has no conditional writes`);
  };
  return {
    name: address,
    read,
    async list(after) {
      const names: string[] = [];
      const asked = { Bucket, Prefix: prefix, Delimiter: '/', ...(after !== '' && { StartAfter: prefix + after }) };
      for await (const { Contents = [] } of paginateListObjectsV2({ client }, asked))
        names.push(...Contents.flatMap(({ Key }) => Key?.slice(prefix.length) ?? []));
      return names.filter((name) => name !== PROBE).sort();
    },
    async create(name, bytes) {
      await expectStrict();
      return create(name, bytes);
    },
    async remove(name) {
      await client.send(new DeleteObjectCommand(objectOf(name)));
    },
    close: () => client.destroy(),
  };
}
