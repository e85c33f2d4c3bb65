import type { BlockFields } from './apply-rules.js';
import { ChainBehind } from './chain-behind.js';
import { nodeProfiles } from './node-rules.js';
import { serveRpc } from './serve-rpc.js';

/** What a node does that it should not. */
export interface ToldFaults {
  /** It breaks every connection, and takes none. */
  readonly isAway: boolean;
  /** Each answer and each announcement comes so much later. */
  readonly latencyMs: number;
  /** It knows no block of the newest so many. A number that grows is a head that goes back. */
  readonly lagBlocks: number;
  /** It knows no block after this one. */
  readonly frozenAt: number | undefined;
  /** Only the first half of each answer comes. */
  readonly isHalf: boolean;
  /** It answers each request with this status alone. */
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

/** A node before anvil that is as strict as a real one, and misbehaves when it is told to. */
export interface StrictNode {
  readonly url: string;
  /** With `newHeads`, on the same port. */
  readonly wsUrl: string;
  /** From now on it has these faults, and no others. */
  tell(faults: Partial<ToldFaults>): void;
  /** Another node of the same chain. It closes with this one. */
  beside(port?: number): Promise<StrictNode>;
  /** Calls back with the header of each block as soon as it is there, whatever faults the node has. @returns ends it */
  onBlock(listener: (header: BlockFields) => void): () => void;
  close(): Promise<void>;
}

export interface StrictNodeOptions {
  /** A free one unless given. */
  readonly port?: number | undefined;
  /** Whose limits, words and headers it has; those of Kaia unless given. */
  readonly profile?: keyof typeof nodeProfiles | undefined;
}

/** @param nodeUrl of an anvil that nobody else asks to make blocks */
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
