/** What a service tells of itself, as Prometheus reads it. */
export async function readMetrics(opsUrl: string): Promise<string> {
  return (await fetch(`${opsUrl}/metrics`)).text();
}

/** Over all labels. */
export function sumOfMetric(text: string, name: string): number {
  const values = text.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? ([0-9.e+-]+)`, 'gm'));
  return [...values].reduce((sum, [, value]) => sum + Number(value), 0);
}
