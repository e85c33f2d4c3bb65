import type { LogRecord } from '@makerbook/kafka';
import type { JsonRpcProvider } from 'ethers';

/** How a chaindatafetcher cuts a message. */
export interface Cut {
  readonly segmentBytes: number;
  /** Undefined: the legacy form, with two headers. */
  readonly producerId: string | undefined;
}

type Raw = Readonly<Record<string, unknown>>;

const DYNAMIC_FEE = '0x2';

/**
 * A block of the chain as Kaia's chaindatafetcher writes it: Kaia's own names for the header's fields, and each
 * transaction and its receipt as one object. Names, their order and kinds of value are those of `golden/blockgroups.json`.
 */
export async function readBlockgroup(provider: JsonRpcProvider, number: number): Promise<Buffer> {
  const tag = `0x${number.toString(16)}`;
  const block: Raw & { transactions: Raw[] } = await provider.send('eth_getBlockByNumber', [tag, true]);
  const receipts: (Raw & { logs: Raw[] })[] = await provider.send('eth_getBlockReceipts', [tag]);
  const transactions = block.transactions.map((transaction) => {
    const receipt = receipts.find(({ transactionHash }) => transactionHash === transaction['hash']);
    if (receipt === undefined || transaction['type'] !== DYNAMIC_FEE) {
      throw new Error(`only executed transactions of type 2 are known here: ${JSON.stringify(transaction)}`);
    }
    return encodeTransaction(transaction, receipt);
  });
  return Buffer.from(JSON.stringify({ blockNumber: number, result: encodeBlock(block, transactions) }));
}

/** Fills in the fields that anvil does not have. */
function encodeBlock(block: Raw, transactions: readonly Raw[]): Raw {
  const { miner, number, hash, parentHash, timestamp } = block;
  return {
    baseFeePerGas: block['baseFeePerGas'],
    blobGasUsed: '0x0',
    blockScore: '0x1',
    committee: [miner],
    excessBlobGas: '0x0',
    extraData: block['extraData'],
    gasUsed: block['gasUsed'],
    governanceData: '0x',
    hash,
    logsBloom: block['logsBloom'],
    mixHash: block['mixHash'],
    number,
    originProposer: miner,
    parentHash,
    proposer: miner,
    randomReveal: `0x${'00'.repeat(96)}`,
    receiptsRoot: block['receiptsRoot'],
    reward: miner,
    round: 0,
    size: block['size'],
    stateRoot: block['stateRoot'],
    timestamp,
    timestampFoS: '0x0',
    transactions,
    transactionsRoot: block['transactionsRoot'],
    voteData: '0x',
  };
}

function encodeTransaction(transaction: Raw, receipt: Raw & { readonly logs: readonly Raw[] }): Raw {
  const { hash, accessList, blockHash, blockNumber, chainId, from, gas, input, nonce, to, value } = transaction;
  return {
    accessList,
    blockHash,
    blockNumber,
    chainId,
    contractAddress: receipt['contractAddress'],
    effectiveGasPrice: receipt['effectiveGasPrice'],
    from,
    gas,
    gasPrice: receipt['effectiveGasPrice'],
    gasUsed: receipt['gasUsed'],
    input,
    logs: receipt.logs.map(encodeLog),
    logsBloom: receipt['logsBloom'],
    maxFeePerGas: transaction['maxFeePerGas'],
    maxPriorityFeePerGas: transaction['maxPriorityFeePerGas'],
    nonce,
    senderTxHash: hash,
    signatures: [{ V: transaction['v'] ?? transaction['yParity'], R: transaction['r'], S: transaction['s'] }],
    status: receipt['status'],
    to,
    transactionHash: hash,
    transactionIndex: transaction['transactionIndex'],
    type: 'TxTypeEthereumDynamicFee',
    typeInt: 30722,
    value,
  };
}

function encodeLog(log: Raw): Raw {
  const { address, topics, data, blockNumber, transactionHash, transactionIndex, blockHash, logIndex } = log;
  return {
    address,
    topics,
    data,
    blockNumber,
    transactionHash,
    transactionIndex,
    blockHash,
    logIndex,
    removed: false,
  };
}

/** The records of one message: key, and headers in their order. */
export function cutBlockgroup(
  number: number,
  message: Buffer,
  { segmentBytes, producerId }: Cut,
): Omit<LogRecord, 'topic'>[] {
  const total = Math.max(1, Math.ceil(message.length / segmentBytes));
  return Array.from({ length: total }, (_, index) => ({
    partition: 0,
    key: String(number),
    value: message.subarray(index * segmentBytes, (index + 1) * segmentBytes),
    headers: {
      totalSegments: uint64(total),
      segmentIdx: uint64(index),
      ...(producerId === undefined ? {} : { version: '1.0', producerId }),
    },
  }));
}

/** 8 bytes, big-endian, one character for each byte. */
export function uint64(value: number): string {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(value));
  return bytes.toString('latin1');
}
