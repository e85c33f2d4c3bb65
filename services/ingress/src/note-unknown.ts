import type { Parts } from './parts.js';

/** A request that was received earlier is not placed: a note that its hash is unknown may be forgotten by then. */
export const REQUEST_AGE_MS_MAX = 25_000;
/** A note that a hash is unknown counts for longer than a request that was received before it may take. */
const NOTE_MS = REQUEST_AGE_MS_MAX + 5_000;

interface NoteParts extends Pick<Parts, 'now'> {
  readonly settings: Pick<Parts['settings'], 'UNKNOWN_HASHES_MAX' | 'UNKNOWN_HASHES_PER_CLIENT_MAX'>;
  readonly store: Pick<Parts['store'], 'forgetNotes'>;
}

export type UnknownNotes = ReturnType<typeof countUnknownNotes>;

/** Bounds the notes of unknown hashes that this process makes: each is a row in Postgres, and anybody may ask. */
export function countUnknownNotes({ settings, store, now }: NoteParts) {
  const clients = new Map<string, number>();
  let total = 0;
  let endsAtMs = 0;

  function turn(): void {
    const nowMs = now();
    if (nowMs < endsAtMs) return;
    // Older notes are of no use.
    if (total > 0) void store.forgetNotes(nowMs - NOTE_MS).catch(() => undefined);
    clients.clear();
    total = 0;
    endsAtMs = nowMs + NOTE_MS;
  }

  return {
    /** True if so many more may be noted for the client. */
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
