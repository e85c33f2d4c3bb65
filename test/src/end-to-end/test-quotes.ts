import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createClient } from '@makerbook/client';
import { createQuoteIssuer, TEST_QUOTE_SIGNER_KEY } from '../quotes/issue-quotes.js';
import { type Market, openMarket } from '../quotes/open-market.js';
import type { WholeStack } from './open-whole.js';

const AMOUNT = 10n ** 15n;

/** Quotes from their signature through PATCH to the chain. */
export function testQuotes(whole: () => WholeStack): void {
  let market: Market;
  beforeAll(async () => {
    market = await openMarket(whole().stack.addresses);
  });
  afterAll(() => market?.stop());

  describe.each(['v0', 'v1'] as const)('a quote of version %s', (version) => {
    const open = async () => {
      const { addresses } = whole().stack;
      const quote = market.quote(version, 2, AMOUNT);
      const issuer = createQuoteIssuer(addresses, TEST_QUOTE_SIGNER_KEY);
      // The signers that the stack names are those that it takes.
      expect(addresses.quoteSigners).toContain(issuer.address);
      const client = createClient({ ...addresses, signer: market.trader });
      return { client, quote, data: issuer.issue(quote), output: await market.outputOf(quote) };
    };

    test('with a minimum above what the pools give reverts with the named error, and lowered again it swaps', async () => {
      const { client, quote, data, output } = await open();
      const minOutput = output + 1n;
      const patched = await client.patchQuote({ data, minOutput });
      expect(patched).not.toBe(data);
      expect(await market.execute(patched, quote)).toEqual({ error: 'InsufficientOutput', args: [output, minOutput] });
      const lowered = await client.patchQuote({ data: patched, minOutput: output });
      expect(await market.execute(lowered, quote)).toEqual({ output });
    });
  });
}
