/** One line of the Prometheus text format. */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** What a process says of itself. */
export interface Told {
  readonly name: string;
  /** It answers at all. */
  readonly isUp: boolean;
  /** Of its `/readyz`: `ok`, or what is wrong. */
  readonly checks: Readonly<Record<string, string>>;
  readonly samples: readonly Sample[];
}

/** A process that takes longer counts as one that does not answer. */
const ANSWER_MS_MAX = 2_000;

/** Asks a process for its metrics and its readiness. @param url of its ops port */
export async function readMetrics(name: string, url: string): Promise<Told> {
  const get = (path: string) => fetch(`${url}${path}`, { signal: AbortSignal.timeout(ANSWER_MS_MAX) });
  try {
    const [metrics, ready] = await Promise.all([get('/metrics'), get('/readyz')]);
    const { checks } = (await ready.json()) as Pick<Told, 'checks'>;
    return { name, isUp: true, checks, samples: parseMetrics(await metrics.text()) };
  } catch {
    return { name, isUp: false, checks: {}, samples: [] };
  }
}

/** The samples of a text in the Prometheus format, without comments and timestamps. */
export function parseMetrics(text: string): Sample[] {
  return text.split('\n').flatMap((line) => {
    const [, name, labels = '', value = ''] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/.exec(line) ?? [];
    if (name === undefined) return [];
    const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, label, quoted = '']) => [
      label,
      quoted.replace(/\\(.)/g, '$1'),
    ]);
    return [{ name, labels: Object.fromEntries(pairs), value: Number(value.replace('Inf', 'Infinity')) }];
  });
}
