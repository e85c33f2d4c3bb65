import type { Change } from './maker.js';
import { expirySeconds, keptUntil } from './open-order.js';
import type { HashKey } from './order.js';

/** A remembered hash. Its order was accepted, open or not, or it was cancelled before its order came. */
export interface RememberedHash {
  readonly state: 'ACCEPTED' | 'CANCELLED';
  /** Undefined if it was cancelled before its order came. */
  readonly nonce: bigint | undefined;
  readonly expiresAtSeconds: number;
  /** The hash is remembered until then even if its maker's nonce has passed the order's: the record may come again. */
  readonly keptUntilSeconds: number;
}

/** Tells the fold what is remembered of hashes that are not open. */
export interface HashRules {
  readonly recallHash: (key: HashKey) => RememberedHash | undefined;
}

/** Hash rules that take in the changes of facts. */
export interface HashMemory extends HashRules {
  readonly note: (changes: Iterable<Change>) => void;
  readonly remember: (key: HashKey, hash: RememberedHash) => void;
  readonly clear: () => void;
}

/** @param before what was known earlier; nothing if left out */
export function rememberHashes(before?: HashRules): HashMemory {
  const hashes = new Map<string, RememberedHash>();
  const remember: HashMemory['remember'] = (key, hash) => void hashes.set(hashKeyText(key), hash);
  return {
    recallHash: (key) => hashes.get(hashKeyText(key)) ?? before?.recallHash(key),
    remember,
    note: (changes) => {
      for (const change of changes) {
        if (change.kind === 'HashCancelled') {
          const { expiresAtSeconds } = change;
          remember(change, { state: 'CANCELLED', nonce: undefined, expiresAtSeconds, keptUntilSeconds: 0 });
        } else if (change.kind === 'OrderOpened' || change.kind === 'OrderRemoved') {
          const { orderHash, order } = change.order;
          const { maker, nonce } = order;
          const times = { expiresAtSeconds: expirySeconds(change.order), keptUntilSeconds: keptUntil(change.order) };
          remember({ orderHash, maker }, { state: 'ACCEPTED', nonce, ...times });
        }
      }
    },
    clear: () => hashes.clear(),
  };
}

/** The key as one text, for maps. */
export function hashKeyText({ orderHash, maker }: HashKey): string {
  return `${orderHash} ${maker}`;
}
