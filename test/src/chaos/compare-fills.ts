import type { LoadMaker } from './ask-service.js';
import type { KeptFill } from './keep-blocks.js';
import { readHistory } from './read-histories.js';

/**
 * Reads the history of each maker page by page, and finds where its fills are not those that the contract has logged: one by one,
 * and in sum.
 */
export async function compareFills(
  makers: readonly Pick<LoadMaker, 'address' | 'client'>[],
  logged: (maker: string) => readonly KeptFill[],
): Promise<string[]> {
  const wrong: string[] = [];
  for (const { address, client } of makers) {
    const told: string[] = [];
    let sum = 0n;
    for await (const entry of readHistory(client, { happened: ['FILLED'] })) {
      if (entry.happened !== 'FILLED') continue;
      const [making, taking] = [BigInt(entry.makingAmount), BigInt(entry.takingAmount)];
      sum += making;
      told.push(lineOf({ ...entry, making, taking }));
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

function lineOf({ orderHash, blockNumber, logIndex, taker, making, taking }: Omit<KeptFill, 'maker'>): string {
  return `${blockNumber}:${logIndex} ${orderHash} ${taker} ${making} ${taking}`;
}
