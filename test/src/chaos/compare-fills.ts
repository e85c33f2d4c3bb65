import type { LoadMaker } from './ask-service.js';
import type { KeptFill } from './keep-blocks.js';
import { readHistory } from './read-histories.js';

/**
 * Reads the history of each maker page by page, and finds where its fills are not those that the contract has logged:
 * one by one, and in sum.
 */
export async function compareFills(
  makers: readonly Pick<LoadMaker, 'address' | 'client' | 'orders'>[],
  logged: (maker: string) => readonly KeptFill[],
): Promise<string[]> {
  const wrong: string[] = [];
  for (const { address, client, orders } of makers) {
    const told: string[] = [];
    const signed = new Map(orders.map(({ signed: { order, orderHash } }) => [orderHash as string, order]));
    let sum = 0n;
    for await (const entry of readHistory(client, { happened: ['FILLED'] })) {
      if (entry.happened !== 'FILLED') continue;
      const [making, taking] = [BigInt(entry.makingAmount), BigInt(entry.takingAmount)];
      sum += making;
      const { orderHash, blockTimestamp: seconds = 0, remainingMakingAmount = '0x0' } = entry;
      told.push(lineOf({ ...entry, making, taking, seconds, remaining: BigInt(remainingMakingAmount) }));
      const order = signed.get(orderHash);
      const tokens = [entry.makingToken, entry.takingToken];
      if (tokens.join() !== [order?.making.token, order?.taking.token].join())
        wrong.push(`the history of ${address} has a fill of ${orderHash} in ${tokens}`);
    }
    const fills = logged(address);
    const must = fills.map(lineOf);
    const [missing, other] = [must.filter((line) => !told.includes(line)), told.filter((line) => !must.includes(line))];
    wrong.push(...missing.map((line) => `the history of ${address} lacks the fill ${line}`));
    wrong.push(...other.map((line) => `the history of ${address} has a fill that the chain has not: ${line}`));
    const loggedSum = fills.reduce((total, { making }) => total + making, 0n);
    if (sum !== loggedSum)
      wrong.push(`the fills in the history of ${address} sum up to ${sum}, those of the chain to ${loggedSum}`);
  }
  return wrong;
}

function lineOf({ orderHash, blockNumber, logIndex, taker, ...fill }: Omit<KeptFill, 'maker'>): string {
  const { making, taking, remaining, seconds } = fill;
  return `${blockNumber}:${logIndex} at ${seconds} ${orderHash} ${taker} ${making} ${taking}, ${remaining} remain`;
}
