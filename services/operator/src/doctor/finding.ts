/** One thing that the doctor has looked at. */
export interface Finding {
  /** `unread`: nobody told. It is no fault. */
  readonly verdict: 'ok' | 'wrong' | 'unread';
  readonly what: string;
  /** Where it is wrong: the section of a document that says what to do. */
  readonly runbook?: string;
}

/** @param runbook a section of a document: `deploy/runbooks/alerts.md#kafkaaway` */
export function judge(isWell: boolean, what: string, runbook: string): Finding {
  return isWell ? { verdict: 'ok', what } : { verdict: 'wrong', what, runbook };
}

/** Between two clocks. */
export const CLOCKS_APART_MS_MAX = 1_000;

/** The section of an alert. */
export const alert = (name: string): string => `deploy/runbooks/alerts.md#${name.toLowerCase()}`;

/** What the look finds; where it throws, that the part does not answer. */
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

/** As `look`, into several things of one part at once. */
export async function lookAll(
  part: string,
  runbook: string,
  looks: readonly (() => Promise<readonly Finding[]>)[],
): Promise<readonly Finding[]> {
  return (await Promise.all(looks.map((into) => look(part, runbook, into)))).flat();
}

/** The message of an error of that kind, if the check ends with one. Other errors are thrown on. */
export async function mismatchOf(check: Promise<void>, Kind: new () => Error): Promise<string | undefined> {
  try {
    await check;
    return undefined;
  } catch (error) {
    if (!(error instanceof Kind)) throw error;
    return error.message;
  }
}
