import type { Address, Hex } from '@makerbook/contracts-evm';
import type { Node } from './call-node.js';
import { RpcUnavailable } from './failures.js';

/** What the service needs of a block's header. */
export interface BlockHeader {
  readonly number: number;
  readonly hash: Hex;
  readonly parentHash: Hex;
  /** Seconds since 1970. */
  readonly timestamp: number;
}

/** A log of a block, as the node gives it: all hex in lowercase. */
export interface ChainLog {
  readonly address: Address;
  readonly topics: readonly Hex[];
  readonly data: Hex;
  readonly blockNumber: number;
  readonly blockHash: Hex;
  readonly transactionHash: Hex;
  readonly logIndex: number;
}

export interface LogFilter {
  /** Any address unless given. */
  readonly address?: Address;
  /** First topics, any of them. */
  readonly topics: readonly Hex[];
}

/** The block with this number and the number of the node's newest one; undefined where the node has it not (yet). */
export async function readBlockAndHead(
  node: Node,
  number: number,
): Promise<{ block: BlockHeader | undefined; headNumber: number }> {
  const [block, head] = await node.callAll([
    { method: 'eth_getBlockByNumber', params: [hexOf(number), false] },
    { method: 'eth_blockNumber', params: [] },
  ]);
  return { block: headerOf(block), headNumber: numberOf(head, 'eth_blockNumber') };
}

/** The block with this number, or the node's newest one; undefined where the node has it not (yet). */
export async function readBlock(node: Node, number: number | 'latest'): Promise<BlockHeader | undefined> {
  const tag = number === 'latest' ? number : hexOf(number);
  return headerOf(await node.call('eth_getBlockByNumber', [tag, false]));
}

/** The logs of exactly this block, in their order. */
export async function readLogs(node: Node, blockHash: Hex, filter: LogFilter): Promise<readonly ChainLog[]> {
  return logsOf(await node.call('eth_getLogs', [{ blockHash, ...filterParams(filter) }]));
}

/** The logs of the blocks `from` to `to`, both included, in their order. */
export async function readLogsOfRange(
  node: Node,
  from: number,
  to: number,
  filter: LogFilter,
): Promise<readonly ChainLog[]> {
  const range = { fromBlock: hexOf(from), toBlock: hexOf(to) };
  return logsOf(await node.call('eth_getLogs', [{ ...range, ...filterParams(filter) }]));
}

export async function readChainId(node: Node): Promise<number> {
  return numberOf(await node.call('eth_chainId', []), 'eth_chainId');
}

/** Whether there is code at the address, at the node's newest block. */
export async function isContract(node: Node, address: Address): Promise<boolean> {
  const code = await node.call('eth_getCode', [address, 'latest']);
  return typeof code === 'string' && code.length > 2;
}

/** A header as any source writes it: numbers as hex quantities or as numbers. Throws RpcUnavailable when it is none. */
export function headerOf(raw: unknown): BlockHeader | undefined {
  if (raw === null || raw === undefined) return undefined;
  const { number, hash, parentHash, timestamp } = raw as Record<string, unknown>;
  return {
    number: numberOf(number, 'block.number'),
    hash: bytesOf(hash, 32, 'block.hash'),
    parentHash: bytesOf(parentHash, 32, 'block.parentHash'),
    timestamp: numberOf(timestamp, 'block.timestamp'),
  };
}

/** Logs as any source writes them. Throws RpcUnavailable when they are none. */
export function logsOf(raw: unknown): ChainLog[] {
  if (!Array.isArray(raw)) throw new RpcUnavailable('the node gave logs that are no list');
  return raw.map((each) => {
    const log = each as Record<string, unknown>;
    const topics = log['topics'];
    if (!Array.isArray(topics)) throw new RpcUnavailable('the node gave a log without topics');
    return {
      address: bytesOf(log['address'], 20, 'log.address'),
      topics: topics.map((topic) => bytesOf(topic, 32, 'log.topics')),
      data: bytesOf(log['data'], undefined, 'log.data'),
      blockNumber: numberOf(log['blockNumber'], 'log.blockNumber'),
      blockHash: bytesOf(log['blockHash'], 32, 'log.blockHash'),
      transactionHash: bytesOf(log['transactionHash'], 32, 'log.transactionHash'),
      logIndex: numberOf(log['logIndex'], 'log.logIndex'),
    };
  });
}

function filterParams({ address, topics }: LogFilter): object {
  return { topics: [topics], ...(address === undefined ? {} : { address }) };
}

function hexOf(value: number): Hex {
  return `0x${value.toString(16)}`;
}

function numberOf(value: unknown, what: string): number {
  const number = typeof value === 'string' && /^0x[0-9a-f]+$/i.test(value) ? Number.parseInt(value, 16) : value;
  if (typeof number === 'number' && Number.isSafeInteger(number) && number >= 0) return number;
  throw new RpcUnavailable(`the node gave a ${what} that is no number: ${String(value)}`);
}

function bytesOf(value: unknown, length: number | undefined, what: string): Hex {
  if (
    typeof value === 'string' &&
    value.startsWith('0x') &&
    (length === undefined || value.length === 2 + 2 * length)
  ) {
    return value.toLowerCase() as Hex;
  }
  throw new RpcUnavailable(`the node gave a ${what} that is not ${length ?? 'any'} bytes: ${String(value)}`);
}
