const ANSWER_TIMEOUT_MS = 10_000;

/**
 * Mines a block every `intervalMs` until `ended` settles. A chain that does not answer misses blocks until it is back:
 * the supervisor may be restarting it.
 * Do not use anvil's own clock (`--block-time`). It keeps more than ten times as many states as configured, and each
 * grows with the chain: a gigabyte after an hour of 1 s blocks.
 */
export function mineBlocks(rpcUrl: string, intervalMs: number, ended: Promise<unknown>): void {
  let isWaiting = false;
  const timer = setInterval(async () => {
    if (isWaiting) return;
    isWaiting = true;
    await answers(rpcUrl, 'evm_mine').catch(() => undefined);
    isWaiting = false;
  }, intervalMs);
  timer.unref();
  void ended.then(() => clearInterval(timer));
}

/** True if the node answers this method, which takes no parameters. */
export async function answers(rpcUrl: string, method: string): Promise<boolean> {
  const response = await fetch(rpcUrl, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: [] }),
    signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
  });
  await response.arrayBuffer();
  return response.ok;
}
