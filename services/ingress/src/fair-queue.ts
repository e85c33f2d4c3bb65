/** About 2 ms of work, up to 4 ms where a signature is tried in two ways. */
export const SIGNATURES_PER_SLICE = 20;

/** Shares the event loop between clients. */
export type FairQueue = ReturnType<typeof createFairQueue>;

/**
 * Long work is cut into short time slices: a client waits for one slice of each other client, however much work they
 * have. Between slices the event loop serves everything else.
 */
export function createFairQueue() {
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
    /** Resolves when the client may use the CPU for one time slice: one slice per round of the event loop, clients in rotation. */
    enter(client: string): Promise<void> {
      return new Promise((resolve) => {
        if (waiting.size === 0) setImmediate(grantNext);
        const own = waiting.get(client);
        if (own === undefined) waiting.set(client, [resolve]);
        else own.push(resolve);
      });
    },
  };
}
