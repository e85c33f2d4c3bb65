import type { BlockFields } from './apply-rules.js';
import { ChainBehind } from './chain-behind.js';
import { nodeProfiles } from './node-rules.js';
import { serveRpc } from './serve-rpc.js';

/** The faults of a node. */
export interface ToldFaults {
  /** The node breaks every connection, and accepts none. */
  readonly isAway: boolean;
  /** Delay of each answer and each announcement. */
  readonly latencyMs: number;
  /** The node does not know this many of the newest blocks. If the number grows, its head goes back. */
  readonly lagBlocks: number;
  /** The node knows no block after this one. */
  readonly frozenAt: number | undefined;
  /** The node sends only the first half of each answer. */
  readonly isHalf: boolean;
  /** The node answers each request with this status alone. */
  readonly status: 429 | 503 | undefined;
}

const RIGHT: ToldFaults = {
  isAway: false,
  latencyMs: 0,
  lagBlocks: 0,
  frozenAt: undefined,
  isHalf: false,
  status: undefined,
};

/** A node in front of anvil that is as strict as a real one, and misbehaves when it is told to. */
export interface StrictNode {
  readonly url: string;
  /** Serves `newHeads`, on the same port. */
  readonly wsUrl: string;
  /** Gives the node these faults, and no others. */
  tell(faults: Partial<ToldFaults>): void;
  /** Starts another node of the same chain. It closes with this one. */
  beside(port?: number): Promise<StrictNode>;
  /** Calls back with each new block's header, whatever faults the node has. @returns a function that ends the calls */
  onBlock(listener: (header: BlockFields) => void): () => void;
  close(): Promise<void>;
}

export interface StrictNodeOptions {
  /** Absent: a free port. */
  readonly port?: number | undefined;
  /** The kind of node whose limits, messages and headers it has. Default: Kaia. */
  readonly profile?: keyof typeof nodeProfiles | undefined;
}

/** @param nodeUrl URL of an anvil that nobody else asks to make blocks */
export function startStrictNode(nodeUrl: string, { port, profile = 'kaia' }: StrictNodeOptions = {}) {
  const rules = nodeProfiles[profile];
  return openNode(new ChainBehind(nodeUrl, rules), rules.requestBytesMax, port);
}

async function openNode(chain: ChainBehind, requestBytesMax: number, port?: number): Promise<StrictNode> {
  let faults = RIGHT;
  const visible = (head: number) => Math.min(faults.frozenAt ?? head, head - faults.lagBlocks);
  const isBehind = () => faults.frozenAt !== undefined || faults.lagBlocks > 0;
  const wait = () => new Promise<void>((resolve) => setTimeout(resolve, faults.latencyMs));
  const server = await serveRpc(
    async (calls) => {
      if (faults.latencyMs > 0) await wait();
      if (faults.isAway) return undefined;
      if (faults.status !== undefined) return { status: faults.status };
      return chain.answer(calls, isBehind() ? visible : undefined);
    },
    { port, requestBytesMax, isHalf: () => faults.isHalf },
  );
  const announce = async (newest: BlockFields) => {
    if (faults.frozenAt !== undefined) return;
    if (faults.latencyMs > 0) await wait();
    const header = faults.lagBlocks === 0 ? newest : await chain.header(Number(newest['number']) - faults.lagBlocks);
    if (header !== undefined && !faults.isAway) server.announce(header);
  };
  const listener = (header: BlockFields) => void announce(header).catch(() => undefined);
  chain.listeners.add(listener);
  const others: StrictNode[] = [];
  return {
    url: server.url,
    wsUrl: server.wsUrl,
    tell(told) {
      faults = { ...RIGHT, ...told };
      if (faults.isAway) server.disconnect();
    },
    async beside(ownPort) {
      const other = await openNode(chain, requestBytesMax, ownPort);
      others.push(other);
      return other;
    },
    onBlock(own) {
      chain.listeners.add(own);
      return () => void chain.listeners.delete(own);
    },
    async close() {
      chain.listeners.delete(listener);
      await Promise.all([server.close(), ...others.map((other) => other.close())]);
    },
  };
}
