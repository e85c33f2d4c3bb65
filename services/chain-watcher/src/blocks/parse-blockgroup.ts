import { bloomOf, type ChainLog, headerOf, logsOf, RpcUnavailable } from '@makerbook/chain';
import { triggerTopics } from '../watch/match-logs.js';
import type { SourceBlock } from './source.js';

const triggers: ReadonlySet<string> = new Set(triggerTopics);

/**
 * Reads a blockgroup message of Kaia's chaindatafetcher: `{"blockNumber", "result": {…header…, "transactions": [{…,
 * "logs": […]}]}}`. Returns what JSON-RPC would give for the same block: the header and, in order, the logs that can
 * touch a maker. Otherwise returns why the message is unreadable.
 */
export function parseBlockgroup(message: Buffer): SourceBlock | { readonly unreadable: string } {
  try {
    const { blockNumber, result } = JSON.parse(message.toString('utf8')) as {
      blockNumber?: unknown;
      result?: { transactions?: unknown };
    };
    const header = headerOf(result);
    if (header === undefined || header.number !== Number(blockNumber)) {
      return { unreadable: `blockNumber ${String(blockNumber)} differs from its header: ${header?.number}` };
    }
    // Both lists are always there, even if empty. A block that lacks one must not count as a block without logs.
    const transactions = result?.transactions;
    if (!Array.isArray(transactions)) return { unreadable: `block ${header.number} has no list of transactions` };
    const logs: ChainLog[] = [];
    for (const transaction of transactions as ({ logs?: unknown } | null)[]) {
      for (const log of logsOf(transaction?.logs)) if (triggers.has(log.topics[0] ?? '')) logs.push(log);
    }
    if (logs.some(({ blockHash }) => blockHash !== header.hash)) {
      return { unreadable: `block ${header.number} holds a log of another block` };
    }
    return { header, logsBloom: bloomOf(result), logs: logs.sort((a, b) => a.logIndex - b.logIndex) };
  } catch (error) {
    if (error instanceof RpcUnavailable || error instanceof SyntaxError || error instanceof TypeError) {
      return { unreadable: error.message };
    }
    throw error;
  }
}
