import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { createOrderHasher, createRequestHashers, hexToBytes, type SigningDomain } from '@makerbook/contracts-evm';
import { paths } from '@makerbook/contracts-http';
import type { Hex } from '@makerbook/contracts-primitives';
import { connectLog, partitionOf } from '@makerbook/kafka';
import { isSignatureRefusal, parseSignature, recoverAddress } from '@makerbook/signatures';
import { silentLogger } from '@makerbook/telemetry';
import express, { type Request, type Response } from 'express';
import type { Contender } from './compare-services.js';

interface FloorSettings {
  readonly kafkaBrokers: string;
  readonly topic: string;
  readonly partitions: number;
  readonly domain: SigningDomain;
  /** Size of the body that answers a GET. */
  readonly bytes: number;
}

/** The least service of this kind, in express and a child process. It refuses, limits and measures nothing. */
export interface Floor extends Contender {
  stop(): Promise<void>;
}

export async function openFloor(settings: FloorSettings): Promise<Floor> {
  const child: ChildProcess = fork(fileURLToPath(import.meta.url), [JSON.stringify(settings)], {
    env: { ...process.env, NODE_ENV: 'production' },
    detached: true,
  });
  const [port] = (await once(child, 'message')) as [number];
  return {
    name: 'express',
    port,
    pid: child.pid ?? 0,
    async stop() {
      child.disconnect();
      await once(child, 'exit');
    },
  };
}

async function serve({ kafkaBrokers, topic, partitions, domain, bytes }: FloorSettings): Promise<number> {
  const log = connectLog({ brokers: [kafkaBrokers], clientId: 'makerbook-bench-floor', logger: silentLogger });
  const config = { 'cleanup.policy': 'delete' };
  await log.createTopics([{ name: topic, partitions, config }]);
  const appender = log.createAppender();
  const { hashOrder } = createOrderHasher(domain);
  const { hashGetRequest } = createRequestHashers(domain);
  const list = Buffer.alloc(bytes, ' ');
  const app = express();
  app.disable('etag');
  app.disable('x-powered-by');
  /** Parses, verifies, and appends one record for each order. */
  app.post(paths.limitOrders, express.json({ limit: '1mb' }), async (request: Request, response: Response) => {
    const items = request.body as readonly PostedOrder[];
    const records = items.map(({ order, signature }) => {
      const digest = hashOrder({
        ...order,
        salt: BigInt(order.salt),
        nonce: BigInt(order.nonce),
        expiresAt: BigInt(order.expiresAt),
        making: { token: order.making.token, amount: BigInt(order.making.amount) },
        taking: { token: order.taking.token, amount: BigInt(order.taking.amount) },
      });
      if (recover(digest, signature) !== order.maker) throw new Error('the signer is another');
      const value = Buffer.from(JSON.stringify({ order, signature, orderHash: Buffer.from(digest).toString('hex') }));
      return { topic, partition: partitionOf(order.maker, partitions), key: order.maker, value, headers: {} };
    });
    await appender.append(records);
    response.json(items);
  });
  /** Recovers one signer, and sends a prepared body. */
  app.get(paths.limitOrders, (request: Request, response: Response) => {
    const query = new URLSearchParams(request.url.slice(request.url.indexOf('?')));
    const digest = hashGetRequest({
      issuedAt: BigInt(query.get('issuedAt') ?? ''),
      salt: hexToBytes(query.get('salt') as Hex),
    });
    if (recover(digest, query.get('signature') ?? '') === undefined) throw new Error('nobody signed');
    response.setHeader('Content-Type', 'application/json');
    response.end(list);
  });
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

interface PostedOrder {
  readonly order: Record<'salt' | 'nonce' | 'expiresAt' | 'maker' | 'permittedTaker', Hex> &
    Record<'making' | 'taking', { readonly token: Hex; readonly amount: Hex }>;
  readonly signature: string;
}

function recover(digest: Uint8Array, text: string): Hex | undefined {
  const signature = parseSignature(text);
  return isSignatureRefusal(signature) ? undefined : recoverAddress(digest, signature);
}

// This runs in the child process.
if (process.argv[1] === fileURLToPath(import.meta.url)) {
  process.once('disconnect', () => process.exit());
  process.send?.(await serve(JSON.parse(process.argv[2] ?? '')));
}
