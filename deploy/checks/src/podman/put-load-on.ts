import { setTimeout as pause } from 'node:timers/promises';

const requests = [
  { method: 'POST', body: '{"orders":[]}', headers: { 'Content-Type': 'application/json' } },
  { method: 'DELETE' },
  { method: 'GET' },
] as const;

/**
 * Sends POST, DELETE and GET all the time, by several clients. They are malformed, so the service refuses each with a code
 * of the 400s; anything else is a failure of the deployment.
 * @returns `stop`, with how many were answered, and those that were not, by status or error
 */
export function putLoadOn(baseUrl: string, clients = 8): { stop(): Promise<Record<string, number>> } {
  let isOn = true;
  const counts: Record<string, number> = {};
  const count = (key: string) => {
    counts[key] = (counts[key] ?? 0) + 1;
  };
  const work = Array.from({ length: clients }, async (_, client) => {
    for (let number = client; isOn; number++) {
      const request = requests[number % requests.length];
      try {
        const response = await fetch(`${baseUrl}/v0alpha/limit-orders`, {
          ...request,
          signal: AbortSignal.timeout(10_000),
        });
        await response.arrayBuffer();
        count(
          response.status >= 400 && response.status < 500 && response.status !== 429
            ? 'answered'
            : `${response.status}`,
        );
      } catch (error) {
        count(
          error instanceof Error
            ? `${error.name} ${(error.cause as { code?: string } | undefined)?.code ?? ''}`
            : 'error',
        );
      }
      await pause(50);
    }
  });
  return {
    stop: async () => {
      isOn = false;
      await Promise.all(work);
      return counts;
    },
  };
}
