import { type BookFill, readFills } from '@makerbook/book';
import type { MakerbookClient, OrderHistory, SignedOrder } from '@makerbook/client';
import { Interface } from 'ethers';
import { readHistory } from './read-histories.js';

/** A fill that the contract has logged. Hex in lowercase. */
export interface LoggedFill {
  readonly maker: string;
  readonly orderHash: string;
  readonly blockNumber: number;
  readonly logIndex: number;
  readonly taker: string;
  readonly making: bigint;
  readonly taking: bigint;
  readonly remaining: bigint;
  /** The time of its block. */
  readonly seconds: number;
}

interface Maker {
  readonly address: string;
  readonly client: Pick<MakerbookClient, 'readHistory'>;
  readonly orders: readonly { readonly signed: SignedOrder }[];
}

type ToldFill = Omit<Extract<OrderHistory['entries'][number], { happened: 'FILLED' }> | BookFill, 'maker'>;

const abi = new Interface([
  'event OrderFilled(address indexed maker, bytes32 indexed orderHash, address taker, uint256 making, uint256 taking, uint256 remaining)',
]);

/** Reads a log of the protocol as a fill. Undefined if it is none. `place.seconds` is the time of its block. */
export function readLoggedFill(
  log: { readonly topics: readonly string[]; readonly data: string },
  place: Pick<LoggedFill, 'blockNumber' | 'logIndex' | 'seconds'>,
): LoggedFill | undefined {
  const filled = abi.parseLog(log);
  if (filled?.name !== 'OrderFilled') return undefined;
  const { maker, orderHash, taker, making, taking, remaining } = filled.args.toObject();
  return { maker: maker.toLowerCase(), taker: taker.toLowerCase(), orderHash, ...place, making, taking, remaining };
}

/**
 * Reads the fills of each maker page by page, from its history and from the public list. Finds where they differ from
 * the logs of the contract: one by one, in their order, and in sum.
 */
export async function compareFills(
  makers: readonly Maker[],
  logged: (maker: string) => readonly LoggedFill[],
  baseUrl: string,
): Promise<string[]> {
  const wrong: string[] = [];
  for (const { address, client, orders } of makers) {
    const signed = new Map(orders.map(({ signed: { order, orderHash } }) => [orderHash as string, order]));
    const judge = (where: string, fills: readonly ToldFill[]) => {
      for (const { orderHash, makingToken, takingToken } of fills) {
        const order = signed.get(orderHash);
        if ([makingToken, takingToken].join() !== [order?.making.token, order?.taking.token].join())
          wrong.push(`${where} of ${address} has a fill of ${orderHash} in ${makingToken}, ${takingToken}`);
      }
      wrong.push(...compareTold(fills, logged(address)).map((what) => `${where} of ${address} ${what}`));
    };
    const history: (ToldFill & { readonly position: string })[] = [];
    for await (const entry of readHistory(client, { happened: ['FILLED'] }))
      if (entry.happened === 'FILLED') history.push(entry);
    // The history sorts the fills of one fact by their orders.
    const facts = [...Map.groupBy(history, ({ position }) => position).values()];
    judge(
      'the history',
      facts.flatMap((own) => own.sort((a, b) => a.blockNumber - b.blockNumber || a.logIndex - b.logIndex)),
    );
    const newestFirst: ToldFill[] = [];
    for await (const { maker, ...fill } of readFills({ baseUrl }, { maker: address })) {
      newestFirst.push(fill);
      if (maker !== address) wrong.push(`among the fills of ${address} is one of ${maker}`);
    }
    judge('the list of fills', newestFirst.reverse());
  }
  return wrong;
}

function compareTold(fills: readonly ToldFill[], logged: readonly LoggedFill[]): string[] {
  const told = fills.map(({ makingAmount, takingAmount, blockTimestamp: seconds = 0, ...fill }) => {
    const [making, taking, remaining] = [makingAmount, takingAmount, fill.remainingMakingAmount ?? '0x0'].map(BigInt);
    return lineOf({ ...fill, seconds, making, taking, remaining });
  });
  const must = logged.map(lineOf);
  const [missing, other] = [must.filter((line) => !told.includes(line)), told.filter((line) => !must.includes(line))];
  const wrong = [
    ...missing.map((line) => `lacks the fill ${line}`),
    ...other.map((line) => `has a fill that the chain has not: ${line}`),
  ];
  const at = told.findIndex((line, index) => line !== must[index]);
  if (wrong.length === 0 && at >= 0) {
    const what = told.indexOf(told[at] ?? '') < at ? 'twice' : 'not in its order';
    wrong.push(
      `has ${told[at]} ${what}, behind ${told[at - 1] ?? 'nothing'}, of ${told.length} of ${must.length} fills`,
    );
  }
  const sums = [
    fills.reduce((sum, { makingAmount }) => sum + BigInt(makingAmount), 0n),
    logged.reduce((sum, { making }) => sum + making, 0n),
  ];
  if (sums[0] !== sums[1]) wrong.push(`has fills that sum up to ${sums[0]}, and those of the chain to ${sums[1]}`);
  return wrong;
}

type Line = Pick<LoggedFill, 'orderHash' | 'blockNumber' | 'logIndex' | 'taker' | 'seconds'> &
  Readonly<Record<'making' | 'taking' | 'remaining', bigint | undefined>>;

function lineOf({ orderHash, blockNumber, logIndex, taker, making, taking, remaining, seconds }: Line): string {
  return `${blockNumber}:${logIndex} at ${seconds} ${orderHash} ${taker} ${making} ${taking}, ${remaining} remain`;
}
