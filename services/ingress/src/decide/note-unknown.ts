import type { MonotonicMs } from '@makerbook/contracts-primitives';
import { NOTE_MS } from '@makerbook/domain';
import type { Logger } from '@makerbook/telemetry';
import type { IngressSettings } from '../env.js';
import type { Store } from '../store/store.js';

interface NoteParts {
  readonly monotonicMs: () => MonotonicMs;
  readonly settings: Pick<IngressSettings, 'UNKNOWN_HASHES_MAX' | 'UNKNOWN_HASHES_PER_CLIENT_MAX'>;
  readonly store: Pick<Store, 'forgetNotes'>;
  readonly logger: Pick<Logger, 'warn'>;
}

export type UnknownNotes = ReturnType<typeof countUnknownNotes>;

/** Bounds this process's notes of unknown hashes: each is a row in Postgres, and anybody may ask. */
export function countUnknownNotes({ settings, store, logger, monotonicMs }: NoteParts) {
  const clients = new Map<string, number>();
  let total = 0;
  let endsAtMs = 0;

  function turn(): void {
    const nowMs = monotonicMs();
    if (nowMs < endsAtMs) return;
    // Older notes are of no use.
    if (total > 0)
      store.forgetNotes(NOTE_MS).catch((error: Error) => {
        logger.warn({ reason: error.message }, 'old notes of unknown hashes were not deleted: retrying next time');
      });
    clients.clear();
    total = 0;
    endsAtMs = nowMs + NOTE_MS;
  }

  return {
    /** True if `count` more hashes may be noted for the client. */
    mayNote(client: string, count: number): boolean {
      turn();
      const ofClient = (clients.get(client) ?? 0) + count;
      return total + count <= settings.UNKNOWN_HASHES_MAX && ofClient <= settings.UNKNOWN_HASHES_PER_CLIENT_MAX;
    },
    note(client: string, count: number): void {
      if (count === 0) return;
      total += count;
      clients.set(client, (clients.get(client) ?? 0) + count);
    },
  };
}
