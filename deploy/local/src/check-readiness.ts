const PROBE_TIMEOUT_MS = 3_000;

/** The readiness of one service: each check is `ok`, or names what is missing. */
export type ServiceReadiness = { readonly isReady: boolean; readonly checks: Readonly<Record<string, string>> };

/**
 * Fetches a service's `/readyz`. Never rejects: a service that does not answer is not ready.
 * @param url URL of the service's ops port, with no path
 */
export async function askReadiness(url: string): Promise<ServiceReadiness> {
  try {
    const response = await fetch(new URL('/readyz', url), { signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) });
    const body = (await response.json()) as { checks?: Record<string, string> };
    return { isReady: response.ok, checks: body.checks ?? {} };
  } catch {
    return { isReady: false, checks: { process: 'does not answer' } };
  }
}

export type StackReadiness = {
  readonly isReady: boolean;
  /** Keyed by service: `ok`, or the checks that fail. */
  readonly checks: Readonly<Record<string, string>>;
};

/** Asks several services for their readiness. @param opsUrls pairs of a name and the URL of its ops port */
export async function askAllReadiness(opsUrls: readonly (readonly string[])[]): Promise<StackReadiness> {
  const asked = await Promise.all(
    opsUrls.map(async ([service = '', url = '']) => ({ service, answer: await askReadiness(url) })),
  );
  return {
    isReady: asked.every(({ answer }) => answer.isReady),
    checks: Object.fromEntries(asked.map(({ service, answer }) => [service, describeReadiness(answer)])),
  };
}

/** Tells in one line what is not ready. */
export function describeReadiness({ isReady, checks }: ServiceReadiness): string {
  const missing = Object.entries(checks).flatMap(([name, check]) => (check === 'ok' ? [] : [`${name}: ${check}`]));
  if (missing.length === 0) return isReady ? 'ok' : 'not ready';
  return isReady ? `ok (${missing.join(', ')})` : missing.join(', ');
}
