import type { RpcError } from './serve-rpc.js';

/** The limits, the kept history and the error messages of a kind of node. */
export interface NodeRules {
  readonly requestBytesMax: number;
  /** The most calls of one request. */
  readonly batchMax: number;
  /** Gas of an `eth_call`. A node with `gasAbove` refuses more. Another node lowers it to this. */
  readonly callGasMax: number;
  readonly gasAbove?: (gas: number) => RpcError;
  /** The most logs of one `eth_getLogs`. */
  readonly logsMax: number;
  readonly tooManyLogs: RpcError;
  /** How many blocks back the node has the state. */
  readonly statesKept: number;
  readonly noState: RpcError;
  /** The error of a call, and below of `eth_getLogs`, for a block hash that the node does not know. */
  readonly unknownHash: RpcError;
  readonly unknownHashOfLogs: (hash: string) => RpcError;
  readonly unknownNumber: RpcError;
  readonly reverted: RpcError;
  readonly outOfGas: RpcError;
  readonly invalidInstruction: RpcError;
  /** Lower bound of the base fee, in wei. Undefined: fees are those of the chain. */
  readonly baseFeeMin?: bigint;
  /** Header fields that the node has beside anvil's, and those of anvil's that it lacks. */
  readonly header: { readonly has: Readonly<Record<string, string>>; readonly lacks: readonly string[] };
}

const failure = (message: string, code = -32000): RpcError => ({ code, message });
const NO_TRIE = '0'.repeat(64);

/** A node of Kaia, release 2.2.1. */
const kaia: NodeRules = {
  requestBytesMax: 524_288,
  batchMax: 1000,
  callGasMax: 500_000_000,
  gasAbove: (gas) => failure(`gas limit ${gas} exceeds the upper limit 500000000`),
  logsMax: 10_000,
  tooManyLogs: failure('query returned more than 10000 results'),
  // The node keeps at least this many.
  statesKept: 100,
  noState: failure(`missing trie node ${NO_TRIE} (path )`),
  unknownHash: failure('header for hash not found'),
  unknownHashOfLogs: (hash) => failure(`the header does not exist (hash: ${hash})`),
  unknownNumber: failure('header not found'),
  reverted: failure('evm: execution reverted'),
  outOfGas: failure('out of gas'),
  invalidInstruction: failure('VM error occurs while running smart contract'),
  baseFeeMin: 25_000_000_000n,
  header: {
    has: { blobGasUsed: '0x0', randomReveal: `0x${'00'.repeat(96)}` },
    lacks: ['totalDifficulty', 'withdrawals', 'withdrawalsRoot'],
  },
};

/** A node of Ethereum. */
const { baseFeeMin: _, gasAbove: __, ...common } = kaia;
const geth: NodeRules = {
  ...common,
  requestBytesMax: 5_242_880,
  callGasMax: 50_000_000,
  logsMax: Number.POSITIVE_INFINITY,
  statesKept: 127,
  noState: failure(`missing trie node ${NO_TRIE} (path ) state 0x${NO_TRIE} is not available, not found`),
  unknownHashOfLogs: () => failure('unknown block'),
  reverted: failure('execution reverted'),
  invalidInstruction: failure('invalid opcode: INVALID'),
  header: { has: {}, lacks: [] },
};

/** The balancer that a provider puts in front of archive nodes of Ethereum. */
const balancer: NodeRules = {
  ...geth,
  batchMax: 100,
  logsMax: 10_000,
  tooManyLogs: failure('query returned more than 10000 results', -32005),
  statesKept: Number.POSITIVE_INFINITY,
};

export const nodeProfiles = { kaia, geth, balancer };
