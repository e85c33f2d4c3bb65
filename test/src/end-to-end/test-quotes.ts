import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createClient } from '@makerbook/client';
import type { BookQuote, Info } from '@makerbook/contracts-http';
import { paths } from '@makerbook/contracts-http/paths';
import { Contract, Wallet } from 'ethers';
import { eventually } from '../kit/eventually.js';
import { giveCoins } from '../kit/give-coins.js';
import { openMakers } from '../kit/open-maker.js';
import { createQuoteIssuer, TEST_QUOTE_SIGNER_KEY } from '../quotes/issue-quotes.js';
import { type Market, openMarket } from '../quotes/open-market.js';
import type { WholeStack } from './open-whole.js';

const AMOUNT = 10n ** 15n;

const TOKEN = [
  'function mint(address,uint256)',
  'function approve(address,uint256)',
  'function balanceOf(address) view returns (uint256)',
];

/**
 * Tests quotes from their signature through PATCH to the chain, and the book's quotes from their answer to the chain.
 */
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
      // The stack accepts the signers that it names.
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

  test.each([
    ['in', (tokens: string) => `${tokens}&amountIn=1000000000000&backups=50`],
    ['out', (tokens: string) => `${tokens}&amountOut=1200000007&backups=50`],
    ['in, with a limit', (tokens: string) => `${tokens}&amountIn=1000000000000&limit=1`],
  ])('a quote of the book for an amount %s is executed as it is answered, to the wei', async (_, query) => {
    const { stack, chain } = whole();
    const [tokenOut = '', tokenIn = ''] = stack.addresses.tokens.map(({ address }) => address);
    const makers = await openMakers(stack, chain, 3);
    for (const [n, maker] of makers.entries()) {
      await maker.mint(1_000_000_007n);
      await maker.approve(1_000_000_007n);
      // No other test has such prices, so these orders are the best.
      const [order] = await maker.place({ amount: 500_000_007n, wanted: 7n + BigInt(n) });
      await maker.lists(order === undefined ? [] : [order], ['ACTIVE']);
    }
    const { contracts, tokens } = (await ask(paths.info)) as Info;
    expect(tokens).toContainEqual(stack.addresses.tokens[0]);
    const path = `/v0alpha/book/quote?${query(`tokenIn=${tokenIn}&tokenOut=${tokenOut}`)}`;
    const taker = Wallet.createRandom(chain.provider);
    await giveCoins(chain.provider, taker.address);
    const [paid, got] = [tokenIn, tokenOut].map((token) => new Contract(token, TOKEN, taker)) as [Contract, Contract];
    const send = async (call: { to: string; data: string; gasLimit?: number }) => {
      const { hash } = await taker.sendTransaction(call);
      await chain.mine();
      return chain.provider.waitForTransaction(hash, 1, 60_000);
    };
    const call = (name: string, ...args: unknown[]) => paid.interface.encodeFunctionData(name, args);
    await send({ to: tokenIn, data: call('mint', taker.address, 10n ** 30n) });
    await eventually(async () => ((await ask(path)) as BookQuote).fills.length >= 3, true);
    const quoted = (await ask(path)) as BookQuote;
    const { to = '', data = '', gas, allowanceTarget = '' } = quoted;
    expect([to, allowanceTarget]).toEqual([contracts.orderFiller, contracts.orderFiller]);
    await send({ to: tokenIn, data: call('approve', allowanceTarget, 10n ** 30n) });
    const receipt = await send({ to, data, gasLimit: gas });
    expect(receipt?.status).toBe(1);
    const spent = 10n ** 30n - BigInt(await paid.getFunction('balanceOf')(taker.address));
    expect([spent, await got.getFunction('balanceOf')(taker.address)]).toEqual([
      BigInt(quoted.amountIn),
      BigInt(quoted.amountOut),
    ]);
    for (const { client } of makers) await client.cancelAll();
  });

  async function ask(path: string): Promise<unknown> {
    const answer = await fetch(`${whole().stack.addresses.baseUrl}${path}`);
    const body = await answer.json();
    if (!answer.ok) throw new Error(JSON.stringify(body));
    return body;
  }
}
