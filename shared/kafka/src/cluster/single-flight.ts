interface Line<T> {
  current: Promise<T>;
  next: Promise<T> | undefined;
}

/**
 * Shares one question among many askers without giving anyone a stale answer: every answer was asked for after its
 * asker came. Who comes while a question is under way shares the next one, so however many come at once, two questions
 * answer them. Failures are shared in the same way.
 */
export function singleFlight<T>(ask: (subject: string) => Promise<T>): (subject: string) => Promise<T> {
  const lines = new Map<string, Line<T>>();

  function afterCurrent(subject: string, line: Line<T>): void {
    const done = () => {
      if (line.next === undefined) {
        lines.delete(subject);
      } else {
        line.current = line.next;
        line.next = undefined;
        afterCurrent(subject, line);
      }
    };
    line.current.then(done, done);
  }

  return (subject) => {
    const line = lines.get(subject);
    if (line === undefined) {
      const opened: Line<T> = { current: ask(subject), next: undefined };
      lines.set(subject, opened);
      afterCurrent(subject, opened);
      return opened.current;
    }
    // `afterCurrent` was attached first, so by the time this question is put it is the current one: who comes after
    // that waits for the one after it.
    line.next ??= line.current.then(
      () => ask(subject),
      () => ask(subject),
    );
    return line.next;
  };
}
