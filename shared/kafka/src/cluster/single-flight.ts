/**
 * Shares one question among many askers without giving anyone a stale answer: every answer was asked for after its
 * asker came. Who comes while a question is under way shares the next one, so however many come at once, two questions
 * answer them. Failures are shared in the same way.
 */
export function singleFlight<T>(ask: (subject: string) => Promise<T>): (subject: string) => Promise<T> {
  const underWay = new Map<string, Promise<unknown>>();
  const next = new Map<string, Promise<T>>();

  function askNext(subject: string): Promise<T> {
    next.delete(subject);
    const asked = ask(subject);
    underWay.set(
      subject,
      asked.catch(() => undefined),
    );
    return asked;
  }

  return (subject) => {
    const joined = next.get(subject) ?? (underWay.get(subject) ?? Promise.resolve()).then(() => askNext(subject));
    next.set(subject, joined);
    return joined;
  };
}
