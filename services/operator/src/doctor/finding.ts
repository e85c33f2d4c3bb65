/** One thing that the doctor has looked at. */
export interface Finding {
  /** `unread`: nobody told, which is no fault. */
  readonly verdict: 'ok' | 'wrong' | 'unread';
  readonly what: string;
  /** The section of a document that says what to do, if it is wrong. */
  readonly runbook?: string;
}

/** @param runbook a section of a document: `deploy/runbooks/alerts.md#kafkaaway` */
export function judge(isWell: boolean, what: string, runbook: string): Finding {
  return isWell ? { verdict: 'ok', what } : { verdict: 'wrong', what, runbook };
}

/** How far two clocks may be apart. */
export const CLOCKS_APART_MS_MAX = 1_000;

/** The runbook section of an alert. */
export const alert = (name: string): string => `deploy/runbooks/alerts.md#${name.toLowerCase()}`;

/** Returns what the look finds. If the look throws, the finding is its error. */
export async function look(
  part: string,
  runbook: string,
  into: () => Promise<readonly Finding[]>,
): Promise<readonly Finding[]> {
  try {
    return await into();
  } catch (error) {
    return [judge(false, `${part}: ${(error as Error).message}`, runbook)];
  }
}

/** Like `look`, at several things of one part at once. */
export async function lookAll(
  part: string,
  runbook: string,
  looks: readonly (() => Promise<readonly Finding[]>)[],
): Promise<readonly Finding[]> {
  return (await Promise.all(looks.map((into) => look(part, runbook, into)))).flat();
}

/** The message of an error of that kind, if the check fails with one. Throws other errors. */
export async function mismatchOf(check: Promise<void>, Kind: new () => Error): Promise<string | undefined> {
  try {
    await check;
    return undefined;
  } catch (error) {
    if (!(error instanceof Kind)) throw error;
    return error.message;
  }
}
