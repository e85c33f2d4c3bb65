/** Lets clients take turns with the CPU. */
export interface Turns {
  /** Resolves when it is the client's turn: one turn of one client for each round of the event loop, clients in rotation. */
  take(client: string): Promise<void>;
}

/** Two milliseconds of work or so, up to four where a signature is tried in two ways. */
export const SIGNATURES_PER_TURN = 20;

/**
 * Long work is cut into short turns, so that whatever one client sends, others wait for a turn of each and not for all of
 * it. In between, the event loop serves what takes no turn.
 */
export function createTurns(): Turns {
  const waiting = new Map<string, (() => void)[]>();

  function grantNext(): void {
    const [next] = waiting;
    if (next === undefined) return;
    const [client, own] = next;
    const grant = own.shift();
    waiting.delete(client);
    // Behind all other clients.
    if (own.length > 0) waiting.set(client, own);
    if (waiting.size > 0) setImmediate(grantNext);
    grant?.();
  }

  return {
    take(client) {
      return new Promise((resolve) => {
        if (waiting.size === 0) setImmediate(grantNext);
        const own = waiting.get(client);
        if (own === undefined) waiting.set(client, [resolve]);
        else own.push(resolve);
      });
    },
  };
}
