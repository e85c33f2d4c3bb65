import { type Address, type Hex, pause } from '@makerbook/contracts-primitives';
import type { Answering, Node } from './call-node.js';
import { RpcRefused, RpcUnavailable } from './failures.js';
import { bloomHolds } from './match-bloom.js';
import { bytesOf, numberOf } from './parse-hex.js';

/** The pause before the only endpoint is asked again. */
const DOUBTED_MS = 250;

/** The fields of a block's header that the service needs. */
export interface BlockHeader {
  readonly number: number;
  readonly hash: Hex;
  readonly parentHash: Hex;
  /** Seconds since 1970. */
  readonly timestamp: number;
}

/** A log of a block, from the node. All hex is lowercase. */
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
  /** Default: any address. */
  readonly address?: Address | readonly Address[];
  /** First topics, of which any may match. Default: any topic. */
  readonly topics?: readonly Hex[];
}

/**
 * The block with this number, undefined if the node does not have it (yet), and the number of the node's newest block.
 */
export interface BlockAndHead {
  readonly block: BlockHeader | undefined;
  readonly logsBloom: Hex | undefined;
  readonly headNumber: number;
  /** Name of the endpoint that gave both. */
  readonly endpoint: string;
}

/** A block whose logs are requested. Without a bloom, or with one of zeros, any logs are believed. */
export interface LoggingBlock {
  readonly number: number;
  readonly hash: Hex;
  readonly logsBloom: Hex | undefined;
}

/** Reads the block with this number, and how far that node is. */
export function readBlockAndHead(node: Answering, number: number): Promise<BlockAndHead> {
  const requests = [
    { method: 'eth_getBlockByNumber', params: [hexOf(number), false] },
    { method: 'eth_blockNumber', params: [] },
  ];
  return node.callAll(requests, ([block, head], endpoint) => ({
    block: headerOf(block, endpoint),
    logsBloom: bloomOf(block),
    headNumber: numberOf(head, 'eth_blockNumber', endpoint),
    endpoint,
  }));
}

/** Reads the block with this number and the newest one of the same node, so that both are of one chain. */
export function readBlockAndNewest(
  node: Answering,
  number: number,
): Promise<{ block: BlockHeader | undefined; newest: BlockHeader; endpoint: string }> {
  const requests = [
    { method: 'eth_getBlockByNumber', params: [hexOf(number), false] },
    { method: 'eth_getBlockByNumber', params: ['latest', false] },
  ];
  return node.callAll(requests, ([block, latest], endpoint) => {
    const newest = headerOf(latest, endpoint);
    if (newest === undefined) throw new RpcUnavailable(`${endpoint} has no newest block`);
    return { block: headerOf(block, endpoint), newest, endpoint };
  });
}

/** Reads the block with this number, or the node's newest one; undefined if the node does not have it (yet). */
export function readBlock(node: Answering, number: number | 'latest'): Promise<BlockHeader | undefined> {
  const params = [number === 'latest' ? number : hexOf(number), false];
  return node.callAll([{ method: 'eth_getBlockByNumber', params }], ([block], endpoint) => headerOf(block, endpoint));
}

/**
 * Reads the logs of exactly this block, in their order. If the header's bloom promises some, an empty answer is
 * believed only when it comes twice: from another endpoint, or later. If the node refuses the logs, they are taken from
 * the block's receipts, which have no limit. Kaia nodes refuse more than 10,000 logs.
 */
export async function readLogs(node: Node, header: LoggingBlock, filter: LogFilter): Promise<readonly ChainLog[]> {
  const params = [{ blockHash: header.hash, ...filterParams(filter) }];
  const asked = { method: 'eth_getLogs', params };
  const take = ([logs]: readonly unknown[], endpoint: string) => {
    return { logs: logsOfBlock(logs, header, endpoint), endpoint };
  };
  let first: ReturnType<typeof take>;
  try {
    first = await node.callAll([asked], take);
  } catch (error) {
    if (!(error instanceof RpcRefused)) throw error;
    return readLogsOfReceipts(node, header, filter).catch((refused: unknown) => {
      // Not every node serves receipts. The first failure tells whether a retry may help.
      throw refused instanceof RpcRefused ? error : refused;
    });
  }
  if (first.logs.length > 0 || !mayHold(header, filter)) return first.logs;

  // An endpoint that lacks the block may answer with no logs, so it must show the block too.
  const proof = { method: 'eth_getBlockByNumber', params: [hexOf(header.number), false] };
  const askAgain = (who: Answering) =>
    who.callAll([asked, proof], ([logs, block], endpoint) => {
      if (headerOf(block, endpoint)?.hash === header.hash) return logsOfBlock(logs, header, endpoint);
      throw new RpcUnavailable(`${endpoint} does not have block ${header.number} (${header.hash}) yet`);
    });
  for (const other of node.endpoints()) {
    if (other.name === first.endpoint || other.isResting()) continue;
    try {
      return await askAgain(other);
    } catch (error) {
      if (!(error instanceof RpcUnavailable || error instanceof RpcRefused)) throw error;
    }
  }
  await pause(DOUBTED_MS);
  return askAgain(node);
}

function readLogsOfReceipts(
  node: Answering,
  header: LoggingBlock,
  { address, topics }: LogFilter,
): Promise<readonly ChainLog[]> {
  const isAsked = (log: ChainLog) =>
    (topics === undefined || topics.some((topic) => topic === log.topics[0])) &&
    (address === undefined || [address].flat().includes(log.address));
  return node.callAll([{ method: 'eth_getBlockReceipts', params: [header.hash] }], ([receipts], endpoint) => {
    if (!Array.isArray(receipts)) throw new RpcUnavailable(`${endpoint} has no receipts of block ${header.number} yet`);
    const logs = receipts.flatMap((receipt: { readonly logs?: unknown }) => receipt.logs ?? []);
    return logsOfBlock(logs, header, endpoint).filter(isAsked);
  });
}

function logsOfBlock(raw: unknown, { hash, number }: LoggingBlock, endpoint: string): ChainLog[] {
  const logs = logsOf(raw, endpoint);
  if (logs.every((log) => log.blockHash === hash && log.blockNumber === number)) return logs;
  throw new RpcUnavailable(`${endpoint} gave logs of another block than ${number} (${hash})`);
}

function mayHold({ logsBloom }: LoggingBlock, { address, topics }: LogFilter): boolean {
  if (logsBloom === undefined) return false;
  return [address, topics].every((any) => any === undefined || [any].flat().some((one) => bloomHolds(logsBloom, one)));
}

/**
 * Reads the logs of the blocks `from` to `to`, both included, in their order. A node that lags behind returns the logs
 * it has, without an error. So it must show the last block too.
 */
export function readLogsOfRange(
  node: Answering,
  from: number,
  to: number,
  filter: LogFilter,
): Promise<readonly ChainLog[]> {
  const requests = [
    { method: 'eth_getBlockByNumber', params: [hexOf(to), false] },
    { method: 'eth_getLogs', params: [{ fromBlock: hexOf(from), toBlock: hexOf(to), ...filterParams(filter) }] },
  ];
  return node.callAll(requests, ([last, logs], endpoint) => {
    if (headerOf(last, endpoint) === undefined) throw new RpcUnavailable(`${endpoint} does not have block ${to} yet`);
    const given = logsOf(logs, endpoint);
    if (given.every(({ blockNumber }) => blockNumber >= from && blockNumber <= to)) return given;
    throw new RpcUnavailable(`${endpoint} gave logs of other blocks than ${from} to ${to}`);
  });
}

export function readChainId(node: Answering): Promise<number> {
  return node.callAll([{ method: 'eth_chainId', params: [] }], ([id], endpoint) =>
    numberOf(id, 'eth_chainId', endpoint),
  );
}

/** True if the address has code after exactly this block, or after the node's newest one. */
export async function isContract(node: Answering, address: Address, blockHash?: Hex): Promise<boolean> {
  return (await findContracts(node, [address], blockHash)).length > 0;
}

/** Returns the addresses that have code, like `isContract`. At most 50. */
export function findContracts(
  node: Answering,
  addresses: readonly Address[],
  blockHash?: Hex,
): Promise<readonly Address[]> {
  const at = blockHash === undefined ? 'latest' : { blockHash };
  return node.callAll(
    addresses.map((address) => ({ method: 'eth_getCode', params: [address, at] })),
    (codes, endpoint) => addresses.filter((_, n) => bytesOf(codes[n], undefined, 'code', endpoint).length > 2),
  );
}

/**
 * Reads a header from any source, with numbers as hex quantities or as numbers. Throws RpcUnavailable for anything
 * else.
 * @param by the name of the source
 */
export function headerOf(raw: unknown, by = 'the node'): BlockHeader | undefined {
  if (raw === null || raw === undefined) return undefined;
  const { number, hash, parentHash, timestamp } = raw as Record<string, unknown>;
  return {
    number: numberOf(number, 'block.number', by),
    hash: bytesOf(hash, 32, 'block.hash', by),
    parentHash: bytesOf(parentHash, 32, 'block.parentHash', by),
    timestamp: numberOf(timestamp, 'block.timestamp', by),
  };
}

/** Reads a block's bloom; undefined if malformed. */
export function bloomOf(raw: unknown): Hex | undefined {
  const { logsBloom } = (raw ?? {}) as { logsBloom?: unknown };
  return typeof logsBloom === 'string' && /^0x[0-9a-f]{512}$/i.test(logsBloom) ? (logsBloom as Hex) : undefined;
}

/**
 * Reads logs from any source. Throws RpcUnavailable for anything else.
 * @param by the name of the source
 */
export function logsOf(raw: unknown, by = 'the node'): ChainLog[] {
  if (!Array.isArray(raw)) throw new RpcUnavailable(`${by} gave logs that are not a list`);
  return raw.map((each) => {
    const log = each as Record<string, unknown>;
    const topics = log['topics'];
    if (!Array.isArray(topics)) throw new RpcUnavailable(`${by} gave a log without topics`);
    if (log['removed'] === true) throw new RpcUnavailable(`${by} gave a log of a block that it has removed`);
    return {
      address: bytesOf(log['address'], 20, 'log.address', by),
      topics: topics.map((topic) => bytesOf(topic, 32, 'log.topics', by)),
      data: bytesOf(log['data'], undefined, 'log.data', by),
      blockNumber: numberOf(log['blockNumber'], 'log.blockNumber', by),
      blockHash: bytesOf(log['blockHash'], 32, 'log.blockHash', by),
      transactionHash: bytesOf(log['transactionHash'], 32, 'log.transactionHash', by),
      logIndex: numberOf(log['logIndex'], 'log.logIndex', by),
    };
  });
}

function filterParams({ address, topics }: LogFilter): object {
  return { ...(topics && { topics: [topics] }), ...(address && { address }) };
}

function hexOf(value: number): Hex {
  return `0x${value.toString(16)}`;
}
