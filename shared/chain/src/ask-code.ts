import type { Address } from '@makerbook/contracts-primitives';
import type { WalletOptions } from './ask-wallets.js';
import { createNode } from './call-node.js';
import { ChainContradiction, RpcRefused, RpcUnavailable } from './failures.js';

/** Asks whether there is a contract at an address, at the newest block. Undefined if that is unknown for now. */
export type AskCode = (address: Address) => Promise<boolean | undefined>;

/** @returns undefined if there is no node */
export function openCode({ urls, onAway, ...options }: WalletOptions): { ask: AskCode; close(): void } | undefined {
  if (urls.length === 0) return undefined;
  const node = createNode({ urls, ...options });
  const ask: AskCode = async (address) => {
    try {
      const code = await node.call('eth_getCode', [address, 'latest']);
      return typeof code === 'string' && code !== '0x';
    } catch (error) {
      const isAway =
        error instanceof RpcUnavailable || error instanceof RpcRefused || error instanceof ChainContradiction;
      if (!isAway) throw error;
      onAway(error.message);
      return undefined;
    }
  };
  return { ask, close: node.close.bind(node) };
}
