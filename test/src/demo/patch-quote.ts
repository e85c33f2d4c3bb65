import type { MakerbookClient } from '@makerbook/client';
import { formatUnits } from 'ethers';
import { createQuoteIssuer, TEST_QUOTE_SIGNER_KEY } from '../quotes/issue-quotes.js';
import { openMarket, type Swapped } from '../quotes/open-market.js';
import type { Stack } from './read-stack.js';

export interface QuoteChapter {
  readonly stack: Stack;
  readonly client: MakerbookClient;
  readonly step: (title: string) => void;
  readonly say: (line: string) => void;
}

const AMOUNT_IN = 10n ** 15n;

/**
 * A swap quote, patched: its guaranteed minimum is raised through the service and the swap executes; a
 * minimum that the pools cannot give makes the transaction revert. Is skipped, and says so, on a chain without pools.
 * @throws Error that says in a sentence what was not as promised
 */
export async function patchQuote({ stack, client, step, say }: QuoteChapter): Promise<void> {
  const issuer = createQuoteIssuer(stack, TEST_QUOTE_SIGNER_KEY);
  if (stack.pools.length < 2 || !stack.quoteSigners.includes(issuer.address)) {
    step('Swap quotes are left out: this stack has no pools, or does not take quotes of the test signer');
    return;
  }
  const market = await openMarket(stack);
  try {
    const quote = market.quote('v1', 2, AMOUNT_IN);
    const output = await market.outputOf(quote);
    const nameOf = (address: string) => stack.tokens.find((token) => token.address.toLowerCase() === address);
    const amountOf = (amount: bigint, address: string) => {
      const token = nameOf(address);
      return `${formatUnits(amount, token?.decimals ?? 0)} ${token?.symbol ?? address}`;
    };
    const got = (amount: bigint) => amountOf(amount, quote.tokenOut);

    step(`A trader has a signed quote: ${amountOf(AMOUNT_IN, quote.tokenIn)} for at least ${got(1n)}, over two pools`);
    const data = issuer.issue(quote);
    const minOutput = (output * 995n) / 1000n;
    const patched = await client.patchQuote({ data, minOutput });
    say(`      PATCH   │ the minimum is ${got(minOutput)} now, and the service has signed for it`);
    expectOutput(await market.execute(patched, quote), output);
    say(`      chain   │ the swap gave ${got(output)}`);

    step('The same with more than the pools can give');
    const greedy = await client.patchQuote({ data, minOutput: output * 2n });
    const refused = await market.execute(greedy, quote);
    if (!('error' in refused) || refused.error !== 'InsufficientOutput') {
      throw new Error('a swap below its guaranteed minimum should revert with InsufficientOutput');
    }
    const [reached = 0n, wanted = 0n] = refused.args as bigint[];
    say(`      chain   │ reverted: InsufficientOutput, ${got(reached)} instead of ${got(wanted)}`);
  } finally {
    market.stop();
  }
}

function expectOutput(swapped: Swapped, output: bigint): void {
  if ('error' in swapped) throw new Error(`the patched swap reverted: ${swapped.error}`);
  if (swapped.output !== output) throw new Error(`the swap gave ${swapped.output} and not ${output}`);
}
