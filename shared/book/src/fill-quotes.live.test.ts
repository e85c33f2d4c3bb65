import { afterAll, describe, expect, test } from '@jest/globals';
import type { BookEntry } from '@makerbook/contracts-events';
import { deployArtifacts } from '@makerbook/contracts-evm';
import { expectRevert } from '@makerbook/contracts-evm/testing';
import { type Address, quantity } from '@makerbook/contracts-primitives';
import { type BaseWallet, Interface } from 'ethers';
import fc from 'fast-check';
import { type FillLimits, fillCalldata, gasLimitOf, gasUsedOf } from './encode-fill.js';
import { type Asked, GAS_PER_ORDER, type Quote, quote } from './quote-orders.js';
import { openMarket, type TokenName } from './testing/open-market.js';
import { openRouterBook } from './testing/router-book.js';

const market = await openMarket();
afterAll(() => market.stop());
const { taker, filler, tokenCall, send } = market;
const fillerAbi = new Interface(deployArtifacts.OrderFiller.abi);
const protocolAddress = await market.protocol.getAddress();

async function fund(token: Address, account: string, spender: string, amount = 10n ** 40n) {
  await send(account, token, tokenCall('mint', account, amount));
  await send(account, token, market.approveAll(spender));
}

/** The feed's record of the order after a reading. */
function observed(entry: BookEntry, remaining: bigint, balance: bigint, allowance: bigint, block: number): BookEntry {
  const funding = { balance: quantity(balance), allowance: quantity(allowance), block };
  const read = { ...entry, remainingMakingAmount: quantity(remaining), funding };
  return remaining <= balance && remaining <= allowance
    ? { ...read, status: 'ACTIVE' }
    : { ...read, status: 'INACTIVE', reason: 'INSUFFICIENT_BALANCE' };
}

describe('a hundred random quotes of makers with shared funds', () => {
  const [QUOTES, QUOTES_PER_ROUND] = [100, 20];
  const random = (seed: number) =>
    fc.sample(fc.bigInt({ min: 1n, max: 10n ** 24n }), { numRuns: 1_000, seed }).values();

  test('are filled in the next block to the wei, and ask no maker for more than it has', async () => {
    const [tokenIn, tokenOut] = [await market.deployToken('TestToken'), await market.deployToken('TestToken')];
    const makers = await Promise.all(Array.from({ length: 5 }, () => market.createMaker()));
    await fund(tokenIn, taker.address, filler);
    const open = new Map<string, { entry: BookEntry; remaining: bigint; published?: BookEntry }>();
    const book = openRouterBook();
    let [filled, fills] = [0, 0];
    for (let round = 0; filled < QUOTES; round += 1) {
      const numbers = random(round);
      const draw = (below: bigint) => (numbers.next().value ?? 1n) % below;
      const funds = new Map<string, { balance: bigint; allowance: bigint }>();
      for (const maker of makers) {
        await send(maker.address, tokenOut, tokenCall('mint', maker.address, draw(10n ** 22n)));
        const allowance = draw(4n * 10n ** 22n);
        await send(maker.address, tokenOut, tokenCall('approve', protocolAddress, allowance));
        const address = maker.address.toLowerCase();
        funds.set(address, { balance: await market.balanceOf(tokenOut, address), allowance });
        for (let n = 0; n < 4; n += 1) {
          const making = { token: tokenOut, amount: 1n + draw(10n ** (17n + draw(4n))) };
          const taking = { token: tokenIn, amount: 1n + (making.amount * (1_000n + draw(50n))) / (1n + draw(1_100n)) };
          const entry = market.createEntry(maker, making, taking, round);
          open.set(entry.orderHash, { entry, remaining: making.amount });
        }
      }
      const before = new Map([...funds].map(([maker, { balance, allowance }]) => [maker, min(balance, allowance)]));
      const block = await market.provider.getBlock('latest');
      /** Publishes like the projector: orders that change for a reader, or else one that tells the funds. */
      const publish = (maker: string) => {
        const { balance, allowance } = funds.get(maker) ?? { balance: 0n, allowance: 0n };
        const own = [...open.values()].filter(({ entry }) => entry.order.maker === maker);
        const isKnown = ({ entry, remaining, published }: (typeof own)[number]) => {
          const { status, remainingMakingAmount } = observed(entry, remaining, balance, allowance, 0);
          return published?.status === status && published.remainingMakingAmount === remainingMakingAmount;
        };
        const changed = own.filter((order) => !isKnown(order));
        for (const order of changed.length > 0 ? changed : own.slice(0, 1)) {
          order.published = observed(order.entry, order.remaining, balance, allowance, block?.number ?? 0);
          book.putEntry(order.published);
        }
      };
      for (const maker of funds.keys()) publish(maker);
      book.tick(block?.number ?? 0, block?.timestamp ?? 0);

      await market.provider.send('evm_setAutomine', [false]);
      const sent: { quoted: Quote; hash: `0x${string}` }[] = [];
      const sums = new Map<string, bigint>();
      for (let n = 0; n < QUOTES_PER_ROUND; n += 1) {
        const size = 1n + draw(10n ** (17n + draw(5n)));
        const asked: Asked = draw(2n) === 0n ? { amountIn: size } : { amountOut: size };
        const quoted = quote(book.orders, { tokenIn, tokenOut }, asked, {
          nowSeconds: block?.timestamp ?? 0,
          backups: Number(draw(50n)),
        });
        if (quoted.fills.length === 0) continue;
        expect(quoted.block?.number).toBe(block?.number);
        sent.push({ quoted, hash: await market.post(taker.address, filler, fillCalldata(quoted), gasLimitOf(quoted)) });
        for (const { entry, makingAmount } of quoted.fills) {
          const { maker } = entry.order;
          const order = open.get(entry.orderHash);
          const own = funds.get(maker);
          if (order === undefined || own === undefined) throw new Error('an order that is not in the feed');
          order.remaining -= makingAmount;
          funds.set(maker, { balance: own.balance - makingAmount, allowance: own.allowance - makingAmount });
          sums.set(maker, (sums.get(maker) ?? 0n) + makingAmount);
          if (order.remaining === 0n) {
            open.delete(entry.orderHash);
            book.removeEntry(entry.orderHash, 'FILLED');
          }
        }
        for (const maker of new Set(quoted.fills.map(({ entry }) => entry.order.maker))) publish(maker);
      }
      await market.provider.send('evm_mine', []);
      await market.provider.send('evm_setAutomine', [true]);

      for (const [maker, sum] of sums) expect(sum).toBeLessThanOrEqual(before.get(maker) ?? 0n);
      for (const { quoted, hash } of sent) {
        const receipt = await market.receiptOf(hash);
        expect(receipt.blockNumber).toBe((block?.number ?? 0) + 1);
        expect(market.fillsIn(receipt.logs)).toEqual(
          quoted.fills.map(({ entry, makingAmount, takingAmount }) => [entry.orderHash, makingAmount, takingAmount]),
        );
        filled += 1;
        fills += quoted.fills.length;
      }
      const paid = sent.reduce((sum, { quoted }) => sum + quoted.amountIn, 0n);
      const got = sent.reduce((sum, { quoted }) => sum + quoted.amountOut, 0n);
      expect(await changeOf(tokenIn, block?.number ?? 0)).toBe(-paid);
      expect(await changeOf(tokenOut, block?.number ?? 0)).toBe(got);
    }
    // Many transactions have several fills.
    expect(fills).toBeGreaterThan(2 * filled);
    expect([await market.balanceOf(tokenIn, filler), await market.balanceOf(tokenOut, filler)]).toEqual([0n, 0n]);
  });

  /** How much the next block changes the taker's balance. */
  async function changeOf(token: Address, block: number): Promise<bigint> {
    const at = async (blockTag: number) =>
      BigInt(await market.provider.call({ to: token, data: tokenCall('balanceOf', taker.address), blockTag }));
    return (await at(block + 1)) - (await at(block));
  }
});

describe('a fill', () => {
  let [tokenIn, tokenOut]: Address[] = [];
  let makers: BaseWallet[] = [];

  /** Three makers sell 100 each, for 100, 110 and 120. The quote is for 100, with a spare order. */
  async function quoteOf(names: readonly [TokenName, TokenName], asked: Asked) {
    makers = await Promise.all([market.createMaker(), market.createMaker(), market.createMaker()]);
    tokenIn = await market.deployToken(names[0]);
    tokenOut = await market.deployToken(names[1]);
    await fund(tokenIn, taker.address, filler);
    const book = openRouterBook();
    for (const [index, maker] of makers.entries()) {
      await fund(tokenOut, maker.address, protocolAddress, 100n);
      const entry = market.createEntry(
        maker,
        { token: tokenOut, amount: 100n },
        { token: tokenIn, amount: 100n + 10n * BigInt(index) },
      );
      book.putEntry(observed(entry, 100n, 100n, 100n, 9));
    }
    return quote(book.orders, { tokenIn, tokenOut }, asked, { nowSeconds: 1_000, backups: 30 });
  }

  async function takersBalances() {
    return {
      in: await market.balanceOf(tokenIn as Address, taker.address),
      out: await market.balanceOf(tokenOut as Address, taker.address),
    };
  }

  /** Fills the quote. Tells the gas, and what the taker paid and got. */
  async function fill(quoted: Quote, limits: FillLimits = {}, gasLimit = gasLimitOf(quoted)) {
    const before = await takersBalances();
    const receipt = await send(taker.address, filler, fillCalldata(quoted, limits), gasLimit);
    const after = await takersBalances();
    expect(await market.balanceOf(quoted.pair.tokenIn, filler)).toBe(0n);
    expect(await market.balanceOf(quoted.pair.tokenOut, filler)).toBe(0n);
    return {
      status: receipt.status,
      paid: before.in - after.in,
      got: after.out - before.out,
      gas: Number(receipt.gasUsed),
    };
  }

  async function refuses(quoted: Quote, limits: FillLimits, error: string, args?: unknown[]) {
    const call = { from: taker.address, to: filler, data: fillCalldata(quoted, limits), gasLimit: 10_000_000n };
    await expectRevert(market.provider.call(call), error, args);
  }

  const plain = ['TestToken', 'TestToken'] as const;
  const illBehaved = ['TestToken', 'IllBehavedToken'] as const;
  const out100 = { amountOut: 100n };

  const maker = () => makers[0]?.address ?? '';
  const cancel = ({ fills: [first] }: Quote) =>
    send(maker(), protocolAddress, market.protocol.interface.encodeFunctionData('cancelOrder', [first?.entry.order]));

  test.each<[string, (quoted: Quote) => Promise<unknown>]>([
    ['is cancelled', cancel],
    ['has no balance', () => send(maker(), tokenOut as Address, tokenCall('transfer', makers[2]?.address, 1n))],
    ['has no allowance', () => send(maker(), tokenOut as Address, tokenCall('approve', protocolAddress, 99n))],
    [
      'is of an earlier nonce',
      () => send(maker(), protocolAddress, market.protocol.interface.encodeFunctionData('cancelAllOrders')),
    ],
  ])('that fails because its order %s is replaced by the spare order', async (_, spoil) => {
    const quoted = await quoteOf(plain, out100);
    expect(quoted.spares).toHaveLength(1);
    await spoil(quoted);
    // The price is worse, so the caller has to accept it.
    await refuses(quoted, {}, 'TooLittle', [90n, 100n]);
    expect(await fill(quoted, { limit: 120n })).toMatchObject({ status: 1, paid: 110n, got: 100n });
  });

  test('that fails in a quote for an amount in is replaced at a worse price if the limit allows it', async () => {
    const quoted = await quoteOf(plain, { amountIn: 150n });
    expect(quoted).toMatchObject({ amountIn: 150n, amountOut: 145n });
    await cancel(quoted);
    // Fills the rest of the second order, and the spare one: 110 and 40.
    await refuses(quoted, {}, 'TooLittle', [133n, 145n]);
    expect(await fill(quoted, { limit: 133n })).toMatchObject({ status: 1, paid: 150n, got: 133n });
  });

  test.each([
    ['is paused', ['setAllowanceAnswer', 1]],
    ['answers false', ['setTransfersReturnFalse', true]],
  ] as const)('that fails because the token %s moves nothing', async (_, [name, value]) => {
    const quoted = await quoteOf(illBehaved, out100);
    await send(taker.address, tokenOut as Address, tokenCall(name, value));
    await refuses(quoted, { limit: 120n }, 'TooLittle', [0n, 100n]);
  });

  test('that fails because the token burns all gas costs no more than the gas limit of its fills', async () => {
    const quoted = await quoteOf(illBehaved, { amountIn: 100n });
    await send(taker.address, tokenOut as Address, tokenCall('setAllowanceAnswer', 5));
    const { gas, ...moved } = await fill(quoted, { limit: 0n, gasPerFill: 200_000 }, 1_000_000);
    expect(moved).toEqual({ status: 1, paid: 0n, got: 0n });
    expect(gas).toBeGreaterThan(400_000);
    expect(gas).toBeLessThan(550_000);
  });

  test('leaves nothing that a token could take by calling back', async () => {
    const quoted = await quoteOf(illBehaved, { amountIn: 150n });
    // The stolen call asks for nothing, so it would be given back everything that is there.
    const [tries] = fillerAbi.decodeFunctionData('fill', fillCalldata(quoted));
    const theft = fillerAbi.encodeFunctionData('fill', [tries, [0n, 0n, 0n, 0n]]);
    await send(taker.address, tokenOut as Address, tokenCall('setCallback', filler, theft));
    expect(await fill(quoted)).toMatchObject({ status: 1, paid: 150n, got: 145n });
    const succeeded = await market.provider.call({ to: tokenOut as Address, data: tokenCall('callbackSucceeded') });
    expect(BigInt(succeeded)).toBe(0n);
  });

  test('is refused if a token takes a fee, unless the caller accepts less', async () => {
    const asked = { amountIn: 150n };
    const feeOut = await quoteOf(['TestToken', 'FeeOnTransferToken'], asked);
    // 1 % of 100, of 45 and of what is passed on, each rounded down.
    await refuses(feeOut, {}, 'TooLittle', [143n, 145n]);
    expect(await fill(feeOut, { limit: 143n })).toMatchObject({ status: 1, paid: 150n, got: 143n });
    const feeIn = await quoteOf(['FeeOnTransferToken', 'TestToken'], asked);
    await refuses(feeIn, {}, 'TooLittle', [144n, 145n]);
    expect(await fill(feeIn, { limit: 144n })).toMatchObject({ status: 1, paid: 150n, got: 144n });
  });

  test('with orders of two pairs is refused', async () => {
    const quoted = await quoteOf(plain, out100);
    const [first] = quoted.fills;
    const { spares } = await quoteOf(plain, out100);
    if (first === undefined) throw new Error('no fill');
    await expectRevert(
      market.provider.call({
        from: taker.address,
        to: filler,
        data: fillCalldata({ ...quoted, fills: [...spares, first] }),
      }),
      'AnotherPair',
      [1n],
    );
  });

  test('costs as much gas as the guide says', async () => {
    const one = await fill(await quoteOf(plain, { amountOut: 90n }));
    const two = await fill(await quoteOf(plain, { amountOut: 190n }));
    const unneeded = await quoteOf(plain, { amountOut: 90n });
    const alone = await fill({ ...unneeded, spares: [] });
    expect(one.gas - alone.gas).toBeLessThan(8_000);
    const failed = await quoteOf(plain, out100);
    await cancel(failed);
    const spare = await fill(failed, { limit: 120n });
    expect(two.gas - one.gas).toBeLessThanOrEqual(GAS_PER_ORDER);
    expect(two.gas - one.gas).toBeGreaterThan(GAS_PER_ORDER * 0.9);
    const expected = gasUsedOf(unneeded);
    expect(Math.abs(one.gas - expected)).toBeLessThan(expected / 20);
    // The difference includes the calldata of the order that fails.
    expect(spare.gas - one.gas).toBeLessThan(20_000);
  });
});

function min(one: bigint, other: bigint): bigint {
  return one < other ? one : other;
}
