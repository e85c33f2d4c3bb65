import { createSwapCallHasher, hexToBytes, type UnsignedSwapCall } from '@makerbook/contracts-evm';
import type { Hex } from '@makerbook/contracts-primitives';
import { createPatchQuote } from '@makerbook/ingress';
import { addressOfKey, isSignatureRefusal, parseSignature, recoverAddress, signDigest } from '@makerbook/signatures';
import { createQuoteIssuer } from '../quotes/issue-quotes.js';
import { type BenchOptions, compare, type Figure } from './report.js';
import { measureCpu } from './verify-floor.js';

const PER_ROUND = 500;

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
export async function benchPatchQuote({ isQuick }: BenchOptions): Promise<readonly Figure[]> {
  const measureRound = () => ({
    value: measureCpu(patchAll) / PER_ROUND,
    floor: measureCpu(verifyAndSignAll) / PER_ROUND,
  });
  for (let warming = 0; warming < 5; warming += 1) measureRound();
  const rounds = Array.from({ length: isQuick ? 5 : 40 }, measureRound);
  return [compare('patch a quote, by one verify and one sign', 'µs of CPU', rounds, { ratioMax: 1.5 })];
}
