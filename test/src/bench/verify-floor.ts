import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { hexToBytes, keccak256 } from '@makerbook/contracts-evm';
import { isSignatureRefusal, parseSignature, recoverAddress, type Signature } from '@makerbook/signatures';
import type { OrderToPost } from '../kit/sign-orders.js';
import { BENCH_FOLDER } from './report.js';

/** What no verification of an order can do without. */
export interface VerifyFloor {
  /** What it is made of. */
  readonly name: string;
  /** CPU for each order, in microseconds. */
  readonly measure: () => Promise<number>;
  readonly close: () => void;
}

/** What each of the four hashes of an order is made over: two amounts, the order, the message that is signed. */
const HASHED_BYTES = [96, 96, 256, 66];
const SOURCE = fileURLToPath(new URL('../../src/bench/yardstick.c', import.meta.url));

interface Proof {
  readonly digest: Uint8Array;
  readonly signature: Signature;
}

/**
 * The four keccaks of an order, and the recovery of its signer's key by the libsecp256k1 of this machine, from C; where there is
 * none, by that of the service itself, and a line says so.
 */
export async function openVerifyFloor(orders: readonly OrderToPost[]): Promise<VerifyFloor> {
  const proofs = orders.map(({ orderHash, signature: text }) => {
    const signature = parseSignature(text);
    if (isSignatureRefusal(signature)) throw new Error(`a signature of the bench is no signature: ${signature.code}`);
    return { digest: hexToBytes(orderHash), signature };
  });
  const inputs = HASHED_BYTES.map((length) => new Uint8Array(length).fill(length));
  const hashAll = () => {
    for (const _ of proofs) for (const input of inputs) keccak256(input);
  };
  const recovery = openYardstick(proofs) ?? openOwn(proofs);
  return {
    name: `${recovery.name} and four keccaks`,
    measure: async () => measureCpu(hashAll) / proofs.length + (await recovery.measure()),
    close: recovery.close,
  };
}

/** CPU of this process, user and system, in microseconds. */
export function measureCpu(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

/** Undefined where it cannot be compiled. */
function openYardstick(proofs: readonly Proof[]): VerifyFloor | undefined {
  mkdirSync(BENCH_FOLDER, { recursive: true });
  const program = join(BENCH_FOLDER, 'yardstick');
  const { status, stderr } = spawnSync('cc', ['-O2', '-o', program, SOURCE, '-lsecp256k1'], { encoding: 'utf8' });
  if (status !== 0) {
    console.error(`The yardstick cannot be compiled: apt-get install -y gcc libsecp256k1-dev\n${stderr ?? ''}`);
    return undefined;
  }
  const child = spawn(program, { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const count = Buffer.alloc(4);
  count.writeUInt32LE(proofs.length);
  child.stdin.write(
    Buffer.concat([
      count,
      ...proofs.flatMap(({ digest, signature: { compact, recovery } }) => [digest, compact, Buffer.from([recovery])]),
    ]),
  );
  return {
    name: 'libsecp256k1 of this machine',
    async measure() {
      child.stdin.write('.');
      const { value, done } = await lines.next();
      if (done === true) throw new Error('the yardstick has ended');
      return Number(value);
    },
    close: () => child.stdin.end(),
  };
}

function openOwn(proofs: readonly Proof[]): VerifyFloor {
  const recoverAll = () => {
    for (const { digest, signature } of proofs) recoverAddress(digest, signature);
  };
  return {
    name: 'the recovery of the service itself',
    measure: async () => measureCpu(recoverAll) / proofs.length,
    close: () => undefined,
  };
}
