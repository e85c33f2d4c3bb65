import type { BlockHeader, ChainLog, Node, RpcRequest } from '@makerbook/chain';
import type { Hex } from '@makerbook/contracts-primitives';

interface AskedLogs {
  readonly blockHash?: Hex;
  readonly fromBlock?: string;
  readonly toBlock?: string;
  readonly topics: Hex[][];
}

/** A node with blocks up to `head`, and with these logs of one address. Another branch has blocks of other hashes. */
export function nodeOfBlocks(head: number, logs: readonly ChainLog[] = []) {
  const hashOf = (number: number, end: string): Hex => `0x${number.toString(16).padStart(63, '0')}${end}`;
  const hexOf = (number: number) => `0x${number.toString(16)}`;
  const headerOf = (number: number, end: string): BlockHeader => {
    return { number, hash: hashOf(number, end), parentHash: hashOf(number - 1, end), timestamp: number };
  };
  const rawLog = (log: ChainLog) => {
    const blockHash = headerOf(log.blockNumber, '0').hash;
    return { ...log, blockHash, blockNumber: hexOf(log.blockNumber), logIndex: hexOf(log.logIndex) };
  };
  const answer = ({ method, params: [asked] }: RpcRequest) => {
    if (method === 'eth_getLogs') {
      const { blockHash, fromBlock, toBlock, topics } = asked as AskedLogs;
      return logs
        .filter(({ blockNumber: number }) => blockHash === undefined || blockHash === headerOf(number, '0').hash)
        .filter(({ blockNumber }) => !(blockNumber < Number(fromBlock) || blockNumber > Number(toBlock)))
        .filter((log) => topics[0]?.includes(log.topics[0] ?? '0x'))
        .map(rawLog);
    }
    if (method === 'eth_getBlockReceipts') {
      return [{ logs: logs.filter(({ blockNumber }) => headerOf(blockNumber, '0').hash === asked).map(rawLog) }];
    }
    if (method === 'eth_blockNumber') return hexOf(double.head);
    const number = asked === 'latest' ? double.head : Number(asked);
    return number > double.head ? null : headerOf(number, double.isOtherBranch ? 'f' : '0');
  };
  const callAll = async <T>(requests: readonly RpcRequest[], read: (answers: unknown[], endpoint: string) => T) => {
    double.asked += 1;
    return read(requests.map(answer), 'node');
  };
  const node = { callAll, passOver: () => undefined, endpoints: () => [] } as unknown as Node;
  const header = (number: number) => headerOf(number, '0');
  /** `asked`: the requests that it has answered. */
  const double = { node, header, head, isOtherBranch: false, asked: 0 };
  return double;
}
