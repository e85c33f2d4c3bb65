const ANSWER_TIMEOUT_MS = 10_000;

/**
 * Mines a block every `intervalMs` until `ended` settles. A chain that does not answer misses blocks until it is back:
 * the supervisor may be starting it anew.
 * anvil's own clock (`--block-time`) keeps more than ten times as many states as configured, each as large as the
 * chain is long: a gigabyte after an hour of 1 s blocks.
 */
export function mineBlocks(rpcUrl: string, intervalMs: number, ended: Promise<unknown>): void {
  let isWaiting = false;
  const timer = setInterval(async () => {
    if (isWaiting) return;
    isWaiting = true;
    await mineBlock(rpcUrl).catch(() => undefined);
    isWaiting = false;
  }, intervalMs);
  timer.unref();
  void ended.then(() => clearInterval(timer));
}

async function mineBlock(rpcUrl: string): Promise<void> {
  const response = await fetch(rpcUrl, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'evm_mine', params: [] }),
    signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
  });
  await response.arrayBuffer();
}
