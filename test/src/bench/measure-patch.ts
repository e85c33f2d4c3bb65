import { createSwapCallHasher, hexToBytes, type UnsignedSwapCall } from '@makerbook/contracts-evm';
import type { Hex } from '@makerbook/contracts-primitives';
import { createPatchQuote } from '@makerbook/ingress';
import { addressOfKey, isSignatureRefusal, parseSignature, recoverAddress, signDigest } from '@makerbook/signatures';
import { createQuoteIssuer } from '../quotes/issue-quotes.js';
import { measureCpu } from './measure-verify.js';
import { compare, type Figure } from './report.js';

const PER_ROUND = 500;
const WARMING_ROUNDS = 5;

const key: Hex = `0x${'11'.repeat(32)}`;
const keyBytes = hexToBytes(key);
const navigator = '0x00000000000000000000000000000000000000bb';
const domain = { serviceName: 'Makerbook', chainId: 8217, navigator } as const;
const hasher = createSwapCallHasher({ ...domain, verifyingContract: navigator });
const patch = createPatchQuote({
  hasher,
  acceptedSigners: new Set([addressOfKey(keyBytes)]),
  sign: (digest) => signDigest(digest, keyBytes),
});

const quote: UnsignedSwapCall = {
  version: 'v1',
  quoteId: 77n,
  tokenIn: '0x0000000000000000000000000000000000000001',
  amountIn: 10n ** 18n,
  tokenOut: '0x0000000000000000000000000000000000000002',
  recipient: '0x0000000000000000000000000000000000000003',
  deadline: 4_000_000_000n,
  pools: ['0x0000000000000000000000000000000000000004', '0x0000000000000000000000000000000000000005'],
  minOutput: 10n ** 18n,
};
const issuer = createQuoteIssuer(domain, key);
const bodies = Array.from({ length: PER_ROUND }, (_, index) =>
  JSON.stringify({
    data: issuer.issue({ ...quote, quoteId: BigInt(index) }),
    minOutput: { amount: String(10n ** 18n - 1n - BigInt(index)) },
  }),
);
const proofs = Array.from({ length: PER_ROUND }, (_, index) => {
  const digest = hasher.hashSwapCall({ ...quote, quoteId: BigInt(index) });
  return { digest, hex: signDigest(digest, keyBytes) };
});

/** From the text of the request's body to the text of the answer's. */
function patchAll(): void {
  for (const body of bodies) {
    const reply = patch(JSON.parse(body), 1_900_000_000);
    if ('code' in reply) throw new Error(reply.detail);
  }
}

/** What no patch can do without: one signature verified, one made. */
function verifyAndSignAll(): void {
  for (const { digest, hex } of proofs) {
    const signature = parseSignature(hex);
    if (isSignatureRefusal(signature)) throw new Error(signature.code);
    if (recoverAddress(digest, signature) === undefined) throw new Error('nobody signed');
    signDigest(digest, keyBytes);
  }
}

/** CPU of patching a quote, against one verification and one signature. */
export async function measurePatch(rounds: number): Promise<Figure> {
  const measureRound = async () => ({
    value: (await measureCpu(patchAll)) / PER_ROUND,
    floor: (await measureCpu(verifyAndSignAll)) / PER_ROUND,
  });
  const samples = [];
  for (let round = -WARMING_ROUNDS; round < rounds; round += 1) {
    const sample = await measureRound();
    if (round >= 0) samples.push(sample);
  }
  return compare('PATCH of a quote, by one verify and one sign', 'µs of CPU', samples, { ratioMax: 1.5 });
}
