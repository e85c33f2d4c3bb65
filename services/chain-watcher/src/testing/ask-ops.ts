/** A watcher's port for operators, seen from outside. */
export type Ops = ReturnType<typeof opsAt>;

export function opsAt(port: number) {
  /** Answers with status 0 if nothing listens. */
  const ask = async (path: '/livez' | '/readyz' | '/metrics') => {
    try {
      const answer = await fetch(`http://127.0.0.1:${port}${path}`);
      return { status: answer.status, text: await answer.text() };
    } catch {
      return { status: 0, text: '' };
    }
  };
  return {
    ask,
    /** One check or note; empty if it is missing. */
    check: async (path: '/livez' | '/readyz', name: string): Promise<string> => {
      const { checks, notes } = JSON.parse((await ask(path)).text || '{}');
      return checks?.[name] ?? notes?.[name] ?? '';
    },
    /** The value of a series, named without its prefix and with its labels as written; NaN if it is missing. */
    metric: async (series: string): Promise<number> => {
      const start = `chain_watcher_${series} `;
      const line = (await ask('/metrics')).text.split('\n').find((each) => each.startsWith(start));
      return line === undefined ? Number.NaN : Number(line.slice(start.length));
    },
  };
}
