/** Bounds the notes of unknown hashes that this process makes: each is a row in Postgres, and anybody may ask. */
export interface UnknownNotes {
  /** Whether so many more may be noted for the client. */
  mayNote(client: string, count: number): boolean;
  note(client: string, count: number): void;
}

export interface UnknownNotesOptions {
  readonly perClientMax: number;
  readonly totalMax: number;
  /** How long a note counts. */
  readonly windowMs: number;
  readonly now: () => number;
  /** Called now and then, when a window has ended in which something was noted: older notes are of no use. */
  readonly onOlder: (beforeMs: number) => void;
}

export function countUnknownNotes(options: UnknownNotesOptions): UnknownNotes {
  const { perClientMax, totalMax, windowMs, now, onOlder } = options;
  const clients = new Map<string, number>();
  let total = 0;
  let endsAtMs = 0;

  function turn(): void {
    const nowMs = now();
    if (nowMs < endsAtMs) return;
    if (total > 0) onOlder(nowMs - windowMs);
    clients.clear();
    total = 0;
    endsAtMs = nowMs + windowMs;
  }

  return {
    mayNote(client, count) {
      turn();
      return total + count <= totalMax && (clients.get(client) ?? 0) + count <= perClientMax;
    },
    note(client, count) {
      if (count === 0) return;
      total += count;
      clients.set(client, (clients.get(client) ?? 0) + count);
    },
  };
}
