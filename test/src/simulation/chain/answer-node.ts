import { type ChainLog, type Node, type RpcRequest, RpcUnavailable, type StateReader } from '@makerbook/chain';
import type { Hex } from '@makerbook/contracts-primitives';
import type { Life } from '@makerbook/parts';
import type { Faults } from './draw-faults.js';
import { type Block, type Chain, valueAt } from './keep-chain.js';

/** What a process sees of the chain: slowly, sometimes not at all, and sometimes from a node that lags. */
export interface SeenChain {
  readonly node: Node;
  readonly state: StateReader;
}

export function answerNode(
  chain: Chain,
  life: Life,
  faults: Faults,
  onRead: (block: Block, calls: number) => void,
): SeenChain {
  /** The newest block of the node that answers. */
  const ask = async (): Promise<number> => {
    await life.delay(faults.nodeMs());
    if (faults.isNodeAway()) throw new RpcUnavailable('the node is away');
    return Math.max(0, chain.head.header.number - faults.lagBlocks());
  };
  const find = (hash: Hex, head: number): Block => {
    const block = chain.find(hash);
    if (block === undefined || block.header.number > head) throw new RpcUnavailable(`no block ${hash} yet`);
    return block;
  };
  const callAll: Node['callAll'] = async (requests, read) => {
    const head = await ask();
    const answers = requests.map((request) => answer(request, chain, head, find));
    await life.delay(faults.nodeMs());
    return read(answers, 'node');
  };
  return {
    node: {
      callAll,
      call: (method, params) => callAll([{ method, params }], ([result]) => result),
      callEach: () => Promise.reject(new Error('state is read by itself here')),
      endpoints: () => [{ name: 'node', callAll, isResting: () => false }],
      passOver: () => undefined,
      counts: () => ({
        calls: 0,
        requests: 0,
        failures: 0,
        failuresByEndpoint: new Map(),
        refusals: 0,
        failovers: 0,
      }),
      close: () => undefined,
    },
    state: {
      read: async (hash, calls) => {
        const block = find(hash, await ask());
        onRead(block, calls.length);
        const values = calls.map((call) => valueAt(block, call));
        await life.delay(faults.nodeMs());
        return values;
      },
      suspects: () => new Map(),
    },
  };
}

interface LogsWanted {
  readonly blockHash?: Hex;
  readonly fromBlock?: Hex;
  readonly toBlock?: Hex;
  readonly address?: Hex;
  readonly topics: readonly [readonly Hex[]];
}

function answer(
  { method, params: [first] }: RpcRequest,
  chain: Chain,
  head: number,
  find: (hash: Hex, head: number) => Block,
): unknown {
  switch (method) {
    case 'eth_blockNumber':
      return head;
    case 'eth_getBlockByNumber': {
      const number = first === 'latest' ? head : Number(first);
      return number > head ? null : chain.at(number).header;
    }
    case 'eth_getLogs': {
      const wanted = first as LogsWanted;
      const blocks =
        wanted.blockHash === undefined
          ? range(Number(wanted.fromBlock), Math.min(head, Number(wanted.toBlock))).map((number) => chain.at(number))
          : [find(wanted.blockHash, head)];
      return blocks.flatMap(({ logs }) => logs.filter((log) => isWanted(log, wanted)));
    }
    default:
      throw new Error(`the node does not know ${method}`);
  }
}

function isWanted({ address, topics: [topic] }: ChainLog, wanted: LogsWanted): boolean {
  if (wanted.address !== undefined && wanted.address !== address) return false;
  return topic !== undefined && wanted.topics[0].includes(topic);
}

function range(first: number, last: number): number[] {
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => first + index);
}
