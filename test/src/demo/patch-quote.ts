import type { MakerbookClient } from '@makerbook/client';
import { formatUnits } from 'ethers';
import { createQuoteIssuer, TEST_QUOTE_SIGNER_KEY } from '../quotes/issue-quotes.js';
import { openMarket } from '../quotes/open-market.js';
import type { FoundStack } from './find-stack.js';

const AMOUNT_IN = 10n ** 15n;

export interface Telling {
  readonly stack: FoundStack['stack'];
  readonly step: (title: string) => void;
  readonly say: (who: string, line: string) => void;
}

/**
 * Patches a swap quote: raises its guaranteed minimum through the service, and executes the swap. Then shows that a
 * minimum the pools cannot give makes the transaction revert. On a chain without pools it only says that this is left
 * out.
 * @throws Error that says in a sentence which promise was broken
 */
export async function patchQuote({
  stack,
  client,
  step,
  say,
}: Telling & { readonly client: MakerbookClient }): Promise<void> {
  const issuer = createQuoteIssuer(stack, TEST_QUOTE_SIGNER_KEY);
  if (stack.pools.length < 2 || !stack.quoteSigners.includes(issuer.address)) {
    step('Swap quotes are left out: this stack has no pools, or does not take quotes of the test signer');
    return;
  }
  const market = await openMarket(stack);
  try {
    const quote = market.quote('v1', 2, AMOUNT_IN);
    const output = await market.outputOf(quote);
    const token = stack.tokens.find(({ address }) => address.toLowerCase() === quote.tokenOut);
    const got = (amount: bigint) => `${formatUnits(amount, token?.decimals ?? 0)} ${token?.symbol ?? quote.tokenOut}`;

    step(`A trader has a signed quote for at least ${got(1n)}, over two pools`);
    const data = issuer.issue(quote);
    const minOutput = (output * 995n) / 1000n;
    const patched = await client.patchQuote({ data, minOutput });
    say('PATCH', `the minimum is ${got(minOutput)} now, and the service has signed for it`);
    const swapped = await market.execute(patched, quote);
    if (!('output' in swapped) || swapped.output !== output)
      throw new Error(
        `the patched swap should give ${output}: ${JSON.stringify(swapped, (_, value) => String(value))}`,
      );
    say('chain', `the swap gave ${got(output)}`);

    step('The same with more than the pools can give');
    const refused = await market.execute(await client.patchQuote({ data, minOutput: output * 2n }), quote);
    if (!('error' in refused) || refused.error !== 'InsufficientOutput')
      throw new Error('a swap below its guaranteed minimum should revert with InsufficientOutput');
    const [reached = 0n, wanted = 0n] = refused.args as bigint[];
    say('chain', `reverted: InsufficientOutput, ${got(reached)} instead of ${got(wanted)}`);
  } finally {
    market.stop();
  }
}
