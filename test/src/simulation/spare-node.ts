import { type NodeGate, serveNode } from './gate-node.js';

/** What a second way to the node may be like at a time. */
export const nodeStates = ['works', 'isAway', 'fails', 'lags'] as const;
export type NodeState = (typeof nodeStates)[number];

/**
 * Another node of the same chain, on which nobody can rely: it answers like the node; breaks off each request; answers
 * each with 503; or answers as one that has no block after that which was the newest one when it began to lag.
 */
export interface SpareNode {
  readonly url: string;
  become(state: NodeState): void;
  state(): NodeState;
  close(): Promise<void>;
}

/** What it must know of the chain to lag behind it. */
export interface KnownHeads {
  headNumber(): number;
  /** Undefined where the block is not known, as it was made long ago. */
  numberOf(blockHash: string): number | undefined;
}

interface Asked {
  readonly id: number;
  readonly method: string;
  readonly params: readonly unknown[];
}

interface Answer {
  readonly id: number;
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string };
}

export async function openSpareNode(gate: Pick<NodeGate, 'ask'>, heads: KnownHeads): Promise<SpareNode> {
  let state: NodeState = 'works';
  let lagsFrom = 0;

  async function askLagging(body: string): Promise<string> {
    const asked = JSON.parse(body) as Asked | Asked[];
    const answers: Answer[] = [];
    for (const call of [asked].flat()) answers.push(await answerBehind(call));
    return JSON.stringify(Array.isArray(asked) ? answers : answers[0]);
  }
  async function answerBehind({ id, method, params }: Asked): Promise<Answer> {
    const newest = lagsFrom;
    if (method === 'eth_blockNumber') return { id, result: hexOf(newest) };
    const isNamed = method === 'eth_getBlockByNumber' && params[0] !== 'latest';
    if (isNamed && Number(params[0]) > newest) return { id, result: null };
    const blockHash = /"blockHash":"(0x[0-9a-f]{64})"/.exec(JSON.stringify(params))?.[1];
    if (blockHash !== undefined && (heads.numberOf(blockHash) ?? 0) > newest)
      return { id, error: { code: -32000, message: 'header not found' } };
    const shifted = params.map((param) => (param === 'latest' ? hexOf(newest) : param));
    const answer = await gate.ask(JSON.stringify({ jsonrpc: '2.0', id, method, params: shifted }));
    return JSON.parse(answer) as Answer;
  }

  const { url, close } = await serveNode(async (body) => {
    if (state === 'isAway') throw new Error('it is away');
    if (state === 'fails') return undefined;
    return state === 'lags' ? askLagging(body) : gate.ask(body);
  });
  return {
    url,
    become(next) {
      state = next;
      lagsFrom = heads.headNumber();
    },
    state: () => state,
    close,
  };
}

function hexOf(value: number): string {
  return `0x${value.toString(16)}`;
}
