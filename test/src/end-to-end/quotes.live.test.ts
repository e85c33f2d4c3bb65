import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createClient, type MakerbookClient, MakerbookError } from '@makerbook/client';
import type { UnsignedSwapCall } from '@makerbook/contracts-evm';
import type { Hex } from '@makerbook/contracts-primitives';
import fc from 'fast-check';
import { type OpenStack, openStack } from '../kit/open-stack.js';
import { createQuoteIssuer, type QuoteIssuer, TEST_QUOTE_SIGNER_KEY } from '../quotes/issue-quotes.js';
import { type Market, openMarket } from '../quotes/open-market.js';

const VERSIONS = ['v0', 'v1'] as const;
const AMOUNT = 10n ** 15n;
let stack: OpenStack;
let market: Market;
let issuer: QuoteIssuer;
let client: MakerbookClient;

beforeAll(async () => {
  stack = await openStack({ ownParts: false });
  market = await openMarket(stack.addresses);
  issuer = createQuoteIssuer(stack.addresses, TEST_QUOTE_SIGNER_KEY);
  client = createClient({ ...stack.addresses, signer: market.trader });
});

afterAll(async () => {
  market?.stop();
  await stack?.stop();
});

/** Places in the calldata, as bytes from its end: the minimum's word, and the signature. */
function changedOutside(before: Hex, after: Hex): number[] {
  const [one, two] = [Buffer.from(before.slice(2), 'hex'), Buffer.from(after.slice(2), 'hex')];
  expect(two).toHaveLength(one.length);
  const mayChange = (fromEnd: number) => (fromEnd > 128 && fromEnd <= 160) || (fromEnd > 31 && fromEnd <= 96);
  return [...one.keys()].filter((at) => one[at] !== two[at] && !mayChange(one.length - at));
}

async function quoteWith(version: 'v0' | 'v1', hops: 1 | 2 = 2): Promise<{ quote: UnsignedSwapCall; output: bigint }> {
  const quote = market.quote(version, hops, AMOUNT);
  return { quote, output: await market.outputOf(quote) };
}

describe.each(VERSIONS)('a quote of version %s', (version) => {
  test('is signed, patched through HTTP, sent, and swaps for at least the new minimum', async () => {
    const { quote, output } = await quoteWith(version);
    const data = issuer.issue(quote);
    const patched = await client.patchQuote({ data, minOutput: output });
    expect(patched).not.toBe(data);
    expect(changedOutside(data, patched)).toEqual([]);
    expect(await market.execute(patched, quote)).toEqual({ output });
  });

  test('with a minimum above what the pools give reverts with the named error', async () => {
    const { quote, output } = await quoteWith(version);
    const minOutput = output + 1n;
    const patched = await client.patchQuote({ data: issuer.issue(quote), minOutput });
    expect(await market.execute(patched, quote)).toEqual({ error: 'InsufficientOutput', args: [output, minOutput] });
    const lowered = await client.patchQuote({ data: patched, minOutput: output });
    expect(await market.tryAll([lowered])).toEqual([{ output }]);
  });

  test('without an assertion swaps as it is, and has nothing to patch', async () => {
    const { quote, output } = await quoteWith(version, 1);
    const data = issuer.issue({ ...quote, minOutput: undefined });
    await expect(client.patchQuote({ data, minOutput: 1n })).rejects.toMatchObject({
      code: 'field_not_exists',
      status: 404,
    });
    expect(await market.execute(data, quote)).toEqual({ output });
  });

  test('signed by a stranger is refused by the service as by the contract', async () => {
    const { quote } = await quoteWith(version);
    const stranger = createQuoteIssuer(stack.addresses, `0x${'77'.repeat(32)}`);
    const data = stranger.issue(quote);
    await expect(client.patchQuote({ data, minOutput: 2n })).rejects.toThrow(MakerbookError);
    await expect(client.patchQuote({ data, minOutput: 2n })).rejects.toMatchObject({ code: 'invalid_signature' });
    expect(await market.tryAll([data])).toEqual([{ error: 'UnknownQuoteSigner', args: [checksumOf(stranger)] }]);
  });

  test('whose minimum was changed without the service is refused by the contract', async () => {
    const { quote } = await quoteWith(version);
    const data = issuer.issue(quote);
    const patched = await client.patchQuote({ data, minOutput: 2n });
    // The old signature under the new minimum.
    const forged = `${patched.slice(0, -192)}${data.slice(-192)}` as Hex;
    const [swapped] = await market.tryAll([forged]);
    expect(swapped).toMatchObject({ error: 'UnknownQuoteSigner' });
  });
});

test('whatever the service patches the contract takes, and holds to the new minimum', async () => {
  const samples = fc.sample(
    fc.record({
      version: fc.constantFrom(...VERSIONS),
      hops: fc.constantFrom<1 | 2>(1, 2),
      amountIn: fc.bigInt({ min: 10n ** 14n, max: 10n ** 22n }),
      quoteId: fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }),
      deadline: fc.bigInt({ min: 2n ** 40n, max: 2n ** 256n - 1n }),
      before: fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }),
      above: fc.oneof(fc.constant(0n), fc.bigInt({ min: -100n, max: 100n }), fc.bigInt({ min: 1n, max: 2n ** 255n })),
    }),
    { numRuns: 150, seed: 5 },
  );
  const expected: unknown[] = [];
  const patched: Hex[] = [];
  for (const { version, hops, amountIn, quoteId, deadline, before, above } of samples) {
    const quote = market.quote(version, hops, amountIn);
    const output = await market.outputOf(quote);
    const minOutput = output + above < 0n ? 0n : output + above;
    const terms = { deadline, minOutput: before };
    const data = issuer.issue(quote.version === 'v1' ? { ...quote, ...terms, quoteId } : { ...quote, ...terms });
    patched.push(await client.patchQuote({ data, minOutput: amountIn % 2n === 0n ? minOutput : hexOf(minOutput) }));
    expected.push(minOutput > output ? { error: 'InsufficientOutput', args: [output, minOutput] } : { output });
  }
  expect(await market.tryAll(patched)).toEqual(expected);
});

test('past its deadline a quote is refused by the service as by the contract', async () => {
  const { quote } = await quoteWith('v1');
  const data = issuer.issue({ ...quote, deadline: 1n });
  await expect(client.patchQuote({ data, minOutput: 2n })).rejects.toMatchObject({ code: 'invalid_date', status: 400 });
  expect(await market.tryAll([data])).toEqual([{ error: 'QuoteExpired', args: [1n] }]);
});

test('the signers that the stack names are those that it takes', () => {
  expect(stack.addresses.quoteSigners).toContain(issuer.address);
});

function hexOf(amount: bigint): Hex {
  return `0x${amount.toString(16)}`;
}

function checksumOf({ address }: QuoteIssuer): unknown {
  return expect.stringMatching(new RegExp(`^${address}$`, 'i'));
}
