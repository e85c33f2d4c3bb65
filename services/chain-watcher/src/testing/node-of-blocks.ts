import type { BlockHeader, Node, RpcRequest } from '@makerbook/chain';
import type { Hex } from '@makerbook/contracts-primitives';

/** A node that answers with blocks up to `head`, and with no logs. */
export function nodeOfBlocks(head: number): { readonly node: Node; readonly header: (number: number) => BlockHeader } {
  const hashOf = (number: number): Hex => `0x${number.toString(16).padStart(64, '0')}`;
  const header = (number: number): BlockHeader => {
    return { number, hash: hashOf(number), parentHash: hashOf(number - 1), timestamp: number };
  };
  const answer = ({ method, params: [asked] }: RpcRequest) => {
    if (method === 'eth_getLogs') return [];
    const { number, timestamp, ...hashes } = header(asked === 'latest' ? head : Number(asked));
    return { ...hashes, number: `0x${number.toString(16)}`, timestamp: `0x${timestamp.toString(16)}` };
  };
  const callAll = async <T>(requests: readonly RpcRequest[], read: (answers: unknown[], endpoint: string) => T) =>
    read(requests.map(answer), 'node');
  return { node: { callAll } as unknown as Node, header };
}
