import type { Hex } from '@makerbook/contracts-primitives';
import type { Change } from './maker.js';

/** What the fold must know of hashes that are not open. */
export interface HashRules {
  /** Whether a hash was accepted before these facts and is no longer open. A hash is never accepted twice. */
  readonly wasRemoved: (orderHash: Hex) => boolean;
  /** Whether the maker cancelled the hash before these facts, and before it was accepted (`HashCancelled`). */
  readonly wasCancelled: (orderHash: Hex) => boolean;
}

/** Hash rules that learn from what facts did. */
export interface HashMemory extends HashRules {
  readonly note: (changes: Iterable<Change>) => void;
}

/** @param before what was known earlier; nothing, if left out */
export function rememberHashes(before?: HashRules): HashMemory {
  const removed = new Set<Hex>();
  const cancelled = new Set<Hex>();
  return {
    wasRemoved: (orderHash) => removed.has(orderHash) || before?.wasRemoved(orderHash) === true,
    wasCancelled: (orderHash) => cancelled.has(orderHash) || before?.wasCancelled(orderHash) === true,
    note: (changes) => {
      for (const change of changes) {
        if (change.kind === 'OrderRemoved') removed.add(change.order.orderHash);
        if (change.kind === 'HashCancelled') cancelled.add(change.orderHash);
      }
    },
  };
}
