import { connect } from 'node:net';

/**
 * Deletes the records of a topic before these offsets, one for each partition, as retention does. For tests.
 * @param brokers one `host:port`: the leader of all partitions
 */
export async function deleteRecords(brokers: string, topic: string, before: readonly bigint[]): Promise<void> {
  const partitions = before.flatMap((offset, partition) => [int32(partition), int64(offset)]);
  const name = [int16(Buffer.byteLength(topic)), Buffer.from(topic)];
  // DeleteRecords, version 1.
  const body = [int32(1), ...name, int32(before.length), ...partitions, int32(TIMEOUT_MS)];
  const answer = await askKafka(brokers, 21, 1, body);
  // Skip correlation id, throttle time and topic. Then comes each partition with its first offset and an error code.
  let at = 4 + 4 + 4 + 2 + Buffer.byteLength(topic) + 4;
  for (let left = before.length; left > 0; left -= 1, at += 14) {
    const code = answer.readInt16BE(at + 12);
    if (code !== 0) throw new Error(`records of ${topic}/${answer.readInt32BE(at)} are not deleted: error ${code}`);
  }
}

/** Sends a request of Kafka's protocol, written by hand: the client library belongs to another package. */
export function askKafka(broker: string, api: number, version: number, body: readonly Buffer[]): Promise<Buffer> {
  const { hostname, port } = new URL(`kafka://${broker}`);
  // Correlation id 1, and no client id.
  const request = Buffer.concat([int16(api), int16(version), int32(1), int16(-1), ...body]);
  return new Promise((resolve, reject) => {
    let answer = Buffer.alloc(0);
    const socket = connect(Number(port), hostname, () => socket.write(Buffer.concat([int32(request.length), request])));
    socket.setTimeout(TIMEOUT_MS, () => socket.destroy(new Error('Kafka does not answer')));
    socket.on('data', (data) => {
      answer = Buffer.concat([answer, data]);
      if (answer.length < 4 || answer.length < 4 + answer.readInt32BE(0)) return;
      socket.destroy();
      resolve(answer.subarray(4));
    });
    socket.on('error', reject);
    socket.on('end', () => reject(new Error('Kafka closed the connection')));
  });
}

export function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
}

export function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

function int64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(value);
  return bytes;
}

const TIMEOUT_MS = 10_000;
