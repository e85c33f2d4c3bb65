/** The port for those who run a watcher, as they see it. */
export interface Ops {
  /** Answers with status 0 where nobody listens. */
  ask(path: '/livez' | '/readyz' | '/metrics'): Promise<{ readonly status: number; readonly text: string }>;
  /** One check or note of `/readyz` or `/livez`; empty where it is not told. */
  check(path: '/livez' | '/readyz', name: string): Promise<string>;
  /** A value of `/metrics`, by name without its prefix and with its labels as they stand there; NaN where it is missing. */
  metric(series: string): Promise<number>;
}

export function opsAt(port: number): Ops {
  const ask: Ops['ask'] = async (path) => {
    try {
      const answer = await fetch(`http://127.0.0.1:${port}${path}`);
      return { status: answer.status, text: await answer.text() };
    } catch {
      return { status: 0, text: '' };
    }
  };
  return {
    ask,
    check: async (path, name) => {
      const { text } = await ask(path);
      const { checks, notes } = JSON.parse(text || '{}') as Record<
        'checks' | 'notes',
        Record<string, string> | undefined
      >;
      return checks?.[name] ?? notes?.[name] ?? '';
    },
    metric: async (series) => {
      const start = `chain_watcher_${series} `;
      const line = (await ask('/metrics')).text.split('\n').find((each) => each.startsWith(start));
      return line === undefined ? Number.NaN : Number(line.slice(start.length));
    },
  };
}
