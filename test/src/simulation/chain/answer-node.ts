import {
  type ChainLog,
  type Node,
  PUT_OFF,
  type RpcRequest,
  RpcUnavailable,
  SIGNATURE_ACCEPTED,
  type StateReader,
} from '@makerbook/chain';
import { hexToBytes, keccak256 } from '@makerbook/contracts-evm';
import type { Hex } from '@makerbook/contracts-primitives';
import type { Life } from '@makerbook/parts';
import { BURNING, lacksCode, refusesSignatures } from './act-on-chain.js';
import type { Faults } from './draw-faults.js';
import { type Block, type Chain, valueAt } from './keep-chain.js';

/** A process's view of the chain: slow, sometimes unavailable, and sometimes from a node that lags. */
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
  /** Number of the newest block of the node that answers. */
  const ask = async (): Promise<number> => {
    await life.delay(faults.nodeMs());
    if (faults.isNodeAway()) throw new RpcUnavailable('the node is down');
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
        const isPutOff = faults.isPutOff();
        const values = calls.map((call) => (isPutOff && call.to === BURNING ? PUT_OFF : valueAt(block, call)));
        await life.delay(faults.nodeMs());
        return values;
      },
      readAlone: async (hash, calls) => {
        const block = find(hash, await ask());
        await life.delay(faults.nodeMs());
        return calls.map(({ to }) => (valueAt(block, refusesSignatures(to)) === 0n ? SIGNATURE_ACCEPTED : 0n));
      },
      findContracts: async (hash, addresses) => {
        const block = find(hash, await ask());
        await life.delay(faults.nodeMs());
        return new Set(addresses.filter((address) => valueAt(block, lacksCode(address)) === 0n));
      },
      suspects: () => new Map(),
    },
  };
}

interface LogsWanted {
  readonly blockHash?: Hex;
  readonly fromBlock?: Hex;
  readonly toBlock?: Hex;
  readonly address?: Hex | readonly Hex[];
  readonly topics?: readonly [readonly Hex[]];
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
      if (number > head) return null;
      const { header, logs } = chain.at(number);
      return { ...header, logsBloom: bloomOf(logs.filter(({ topics }) => topics.length === 0)) };
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

/** The bloom of the addresses of these logs. */
function bloomOf(logs: readonly ChainLog[]): Hex {
  let bloom = 0n;
  for (const { address } of logs) {
    const hash = keccak256(hexToBytes(address));
    for (const at of [0, 2, 4]) bloom |= 1n << BigInt((((hash[at] ?? 0) << 8) | (hash[at + 1] ?? 0)) & 2047);
  }
  return `0x${bloom.toString(16).padStart(512, '0')}`;
}

function isWanted({ address, topics: [topic] }: ChainLog, wanted: LogsWanted): boolean {
  if (wanted.address !== undefined && ![wanted.address].flat().includes(address)) return false;
  return wanted.topics === undefined || (topic !== undefined && wanted.topics[0].includes(topic));
}

function range(first: number, last: number): number[] {
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => first + index);
}
