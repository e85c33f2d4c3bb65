import { expect, test } from '@jest/globals';
import { type BookFill, followFills } from '@makerbook/book';
import type { SignedOrder } from '@makerbook/client';
import { compareFills, type LoggedFill, readLoggedFill } from '../kit/compare-fills.js';
import { eventually } from '../kit/eventually.js';
import { openMakers, type TestChain, type TestMaker } from '../kit/open-maker.js';
import type { WholeStack } from './open-whole.js';

/** Tests the fills that anybody may read. */
export function testFills(whole: () => WholeStack): void {
  test('are those that the contract has logged, wherever their order stands, one by one and in sum', async () => {
    const { stack, chain } = whole();
    const { baseUrl, limitOrderProtocol } = stack.addresses;
    const [maker] = (await openMakers(stack, chain, 1)) as [TestMaker];
    const address = maker.wallet.address.toLowerCase();
    const leaving = new AbortController();
    const streamed: BookFill[] = [];
    const following = follow(followFills({ baseUrl, signal: leaving.signal }, 0), streamed);
    await maker.mint(1_000n);
    await maker.approve(1_000n);
    const fromBlock = await chain.provider.getBlockNumber();
    const [order, late] = (await maker.place({}, { amount: 30n })) as [SignedOrder, SignedOrder];
    await maker.lists([order, late], ['ACTIVE', 'ACTIVE']);
    await maker.client.cancelOrders([late]);
    for (const [filled, amount] of [
      [order, 33n],
      [late, 7n],
      [order, 67n],
    ] as const)
      await maker.fill(filled, amount);
    const unposted = await maker.sign({ amount: 11n });
    await maker.fill(unposted, 11n);

    const logged = await readLogs(chain, limitOrderProtocol, fromBlock);
    const own = logged.filter((fill) => fill.maker === address);
    expect(own.map(({ making }) => making)).toEqual([33n, 7n, 67n, 11n]);
    const orders = [order, late, unposted].map((signed) => ({ signed }));
    const compare = () => compareFills([{ address, client: maker.client, orders }], () => own, baseUrl);
    await eventually(compare, []);
    const amounts = () => streamed.flatMap((fill) => (fill.maker === address ? [`${BigInt(fill.makingAmount)}`] : []));
    await eventually(async () => amounts(), ['33', '7', '67', '11']);
    expect(streamed.find((fill) => fill.maker === address)?.price).toEqual({ numerator: '17', denominator: '33' });
    leaving.abort();
    await following;
  });
}

/** Keeps the fills that come until the reading is ended. */
async function follow(fills: AsyncIterable<BookFill>, into: BookFill[]): Promise<void> {
  try {
    for await (const fill of fills) into.push(fill);
  } catch (error) {
    if ((error as Error).name !== 'AbortError') throw error;
  }
}

async function readLogs({ provider }: TestChain, address: string, fromBlock: number): Promise<LoggedFill[]> {
  const logs = await provider.getLogs({ address, fromBlock });
  const fills = logs.map(async (log) => {
    const block = await provider.getBlock(log.blockNumber);
    return readLoggedFill(log, {
      blockNumber: log.blockNumber,
      logIndex: log.index,
      seconds: block?.timestamp ?? 0,
    });
  });
  return (await Promise.all(fills)).flatMap((fill) => fill ?? []);
}
