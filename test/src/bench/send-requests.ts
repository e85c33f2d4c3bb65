import { Agent, request } from 'node:http';

/** One request, ready to be sent. */
export interface BenchRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly body?: Buffer;
}

export interface Sender {
  /** Milliseconds from sending to the last byte of a 200. @throws Error with what else was answered */
  send(request: BenchRequest): Promise<number>;
  close(): void;
}

/** Sends over connections that are kept open, with as little CPU as Node allows. */
export function openSender(port: number): Sender {
  const agent = new Agent({ keepAlive: true, maxSockets: 256 });
  const send = ({ method, path, body }: BenchRequest) =>
    new Promise<number>((resolve, reject) => {
      const headers = body === undefined ? {} : { 'Content-Type': 'application/json', 'Content-Length': body.length };
      const sentAt = performance.now();
      const outgoing = request({ agent, host: '127.0.0.1', port, method, path, headers }, (response) => {
        const failed: Buffer[] = [];
        response.on('data', (chunk: Buffer) => {
          if (response.statusCode !== 200) failed.push(chunk);
        });
        response.on('error', reject);
        response.on('end', () => {
          if (response.statusCode === 200) resolve(performance.now() - sentAt);
          else reject(new Error(`${method} answered ${response.statusCode}: ${Buffer.concat(failed).toString()}`));
        });
      });
      outgoing.on('error', reject);
      outgoing.end(body);
    });
  return {
    send,
    close: () => agent.destroy(),
  };
}
