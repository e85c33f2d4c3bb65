import {
  DeleteObjectCommand,
  GetObjectCommand,
  PutObjectCommand,
  paginateListObjectsV2,
  S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3';
import type { ArchiveStore } from './open-folder.js';

const ADDRESS = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*?))?\/?$/;
const TIMEOUTS = { connectionTimeout: 5_000, requestTimeout: 30_000 };

/**
 * A bucket of an S3-compatible store, or the part of it below a prefix, as the store of an archive. The client reads
 * the variables of AWS: endpoint, region and credentials.
 * @param address `s3://bucket/prefix`
 * @throws Error where the address is none
 */
export function openBucket(address: string): ArchiveStore {
  const [, Bucket, path] = ADDRESS.exec(address) ?? [];
  if (Bucket === undefined) throw new Error(`${address} is no bucket: s3://bucket or s3://bucket/prefix`);
  const prefix = path ? `${path}/` : '';
  // Stores of one's own have no name for each bucket.
  const client = new S3Client({ forcePathStyle: true, requestHandler: TIMEOUTS });
  const objectOf = (name: string) => ({ Bucket, Key: prefix + name });
  const read = async (name: string) => {
    const { Body } = await client.send(new GetObjectCommand(objectOf(name)));
    return Buffer.from((await Body?.transformToByteArray()) ?? []);
  };
  return {
    name: address,
    read,
    async list(after) {
      const names: string[] = [];
      const asked = { Bucket, Prefix: prefix, Delimiter: '/', ...(after !== '' && { StartAfter: prefix + after }) };
      for await (const { Contents = [] } of paginateListObjectsV2({ client }, asked))
        names.push(...Contents.flatMap(({ Key }) => Key?.slice(prefix.length) ?? []));
      return names.sort();
    },
    async create(name, bytes) {
      try {
        await client.send(new PutObjectCommand({ ...objectOf(name), Body: bytes, IfNoneMatch: '*' }));
        return true;
      } catch (error) {
        if (!(error instanceof S3ServiceException) || error.$metadata.httpStatusCode !== 412) throw error;
        // The answer to an attempt before may have been lost.
        return (await read(name)).equals(bytes);
      }
    },
    async remove(name) {
      await client.send(new DeleteObjectCommand(objectOf(name)));
    },
  };
}
