import type { Finding, Wrong } from './judge-orders.js';
import type { ChaosResult, Round } from './run-chaos.js';

const WRONGS: readonly Wrong[] = ['lost', 'invented', 'doubled'];

/**
 * A row for each kind of fault and the part that it harms: how often, what was wrong by then, and the seconds from its end until
 * POST, GET and the feed's clock all worked again. What is wrong is put down to the last fault that began before the answer.
 */
export function showTable({ rounds, findings }: ChaosResult): string {
  const rowAt = (atMs: number) => rowOf(rounds.findLast(({ beganAtMs }) => beganAtMs <= atMs) ?? rounds[0]);
  const rows = [...Map.groupBy(rounds, rowOf)].sort(([one], [other]) => (one < other ? -1 : 1));
  return [
    '| fault | part | rounds | lost | invented | doubled | recovery p50, s | max, s |',
    '|---|---|---|---|---|---|---|---|',
    ...rows.map(([row, played]) =>
      lineOf(
        row,
        played,
        findings.filter(({ atMs }) => rowAt(atMs) === row),
      ),
    ),
    lineOf('**all** | ', rounds, findings),
  ].join('\n');
}

/** POST, GET and the feed's clock: the last of them. */
export function recoveryMs({ recoveredMs }: Round): number {
  return Math.max(...Object.values(recoveredMs));
}

function rowOf(round: Round | undefined): string {
  const [first, second] = round?.faults ?? [];
  return second === undefined ? `${first?.kind} | ${first?.part}` : 'two at once | any';
}

function lineOf(row: string, rounds: readonly Round[], findings: readonly Finding[]): string {
  const took = rounds.map(recoveryMs).sort((one, other) => one - other);
  const counts = WRONGS.map((wrong) => findings.filter((finding) => finding.wrong === wrong).length);
  const times = [took[(took.length - 1) >> 1], took.at(-1)].map((ms = 0) => (ms / 1000).toFixed(1));
  return `| ${[row, rounds.length, ...counts, ...times].join(' | ')} |`;
}
