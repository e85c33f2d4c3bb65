export type Labels = Readonly<Record<string, string>>;

/** The report of a process about itself. */
export interface Told {
  readonly name: string;
  /** The checks of its `/readyz`, and whether the process answers: `ok`, or what is wrong. */
  readonly checks: Labels;
  /** The samples of its metrics, keyed by metric name. The name of the process is a label. */
  readonly samples: ReadonlyMap<string, readonly { readonly labels: Labels; readonly value: number }[]>;
}

/** A process that takes longer counts as one that does not answer. */
const ANSWER_MS_MAX = 2_000;

/** Asks a process for its metrics and its readiness. @param url the URL of its ops port */
export async function readMetrics(name: string, url: string): Promise<Told> {
  const get = (path: string) => fetch(`${url}${path}`, { signal: AbortSignal.timeout(ANSWER_MS_MAX) });
  try {
    const [metrics, ready] = await Promise.all([get('/metrics'), get('/readyz')]);
    const { checks } = (await ready.json()) as Pick<Told, 'checks'>;
    return { name, checks: { process: 'ok', ...checks }, samples: parseMetrics(name, await metrics.text()) };
  } catch {
    return { name, checks: { process: 'does not answer' }, samples: new Map() };
  }
}

/** The samples of a text in the Prometheus format, without comments and timestamps. */
export function parseMetrics(process: string, text: string): Told['samples'] {
  const lines = [...text.matchAll(/^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/gm)];
  const samples = lines.map(([, name = '', labels = '', value = '']) => {
    const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)];
    const unquoted = pairs.map(([, label, quoted = '']) => [label, quoted.replace(/\\(.)/g, '$1')]);
    const number = Number(value.replace('Inf', 'Infinity'));
    return { name, labels: { ...Object.fromEntries(unquoted), process }, value: number };
  });
  return Map.groupBy(samples, ({ name }) => name);
}
