import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fetchPom } from '../fetch-jars.js';
import { findFreePorts } from '../find-free-ports.js';
import { type Part, spawnPart, waitUntilReady } from '../spawn-part.js';

export type S3Part = Part & {
  /** `http://host:port`. */
  readonly url: string;
};

const START_TIMEOUT_MS = 240_000;

/**
 * Starts an S3-compatible server on the loopback address. It accepts any key.
 * @param bucket the bucket that it has at first
 * @param folder takes its files and its log
 */
export async function startS3(bucket: string, folder: string): Promise<S3Part> {
  const jars = await fetchPom({
    name: 'S3',
    folder: join(import.meta.dirname, '..', '..', 's3'),
    size: '61 MB',
    goals: ['dependency:copy-dependencies'],
    onProgress: (line) => console.log(line),
  });
  const jar = readdirSync(jars).find((name) => name.endsWith('.jar')) ?? '';
  const [port, unused] = await findFreePorts(2);
  const url = `http://127.0.0.1:${port}`;
  const settings = {
    'com.adobe.testing.s3mock.http-port': port,
    'server.port': unused,
    'server.address': '127.0.0.1',
    'com.adobe.testing.s3mock.store.initial-buckets': bucket,
    'com.adobe.testing.s3mock.store.root': join(folder, 's3'),
  };
  const part = spawnPart({
    name: 'S3',
    command: 'java',
    args: [
      '-XX:TieredStopAtLevel=1',
      '-jar',
      join(jars, jar),
      ...Object.entries(settings).map(([name, value]) => `--${name}=${value}`),
    ],
    logFile: join(folder, 's3.log'),
    stopTimeoutMs: 5_000,
  });
  const answers = () =>
    fetch(url).then(
      ({ ok }) => ok,
      () => false,
    );
  await waitUntilReady(part, answers, START_TIMEOUT_MS);
  return { ...part, url };
}
