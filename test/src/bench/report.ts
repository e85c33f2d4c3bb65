import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { median, round } from '../kit/summarise.js';

/** The options of a bench. */
export interface BenchOptions {
  /** Takes about a tenth of the samples, to see that the bench works. */
  readonly isQuick: boolean;
  /** How long `sustained` runs. */
  readonly minutes: number;
}

/** The value that one round measured, and the floor of the same round. */
export interface Sample {
  readonly value: number;
  readonly floor: number;
}

/** Bounds the median ratio, or the value itself if there is nothing to compare it with. */
export type Goal =
  | { readonly ratioMax: number }
  | { readonly ratioMin: number }
  | { readonly valueMax: number }
  /** Depends on the machine. A miss is shown, but does not fail `--check`. */
  | { readonly referenceMin: number };

/** One row of the report. Value and floor are medians over the rounds. Each ratio is of one round. */
export interface Figure {
  readonly name: string;
  readonly unit: string;
  readonly value: number;
  readonly floor?: number;
  readonly ratio?: { readonly min: number; readonly median: number; readonly max: number };
  readonly goal?: Goal;
  readonly isMet?: boolean;
}

/** A row about two things measured in turn, once in each round. */
export function compare(name: string, unit: string, rounds: readonly Sample[], goal?: Goal): Figure {
  const ratios = rounds.map(({ value, floor }) => value / floor);
  const ratio = { min: Math.min(...ratios), median: median(ratios), max: Math.max(...ratios) };
  return judge({
    name,
    unit,
    value: median(rounds.map(({ value }) => value)),
    floor: median(rounds.map(({ floor }) => floor)),
    ratio,
    ...(goal === undefined ? {} : { goal }),
  });
}

/** A row without a floor: a promise in milliseconds or bytes, or a figure for orientation. */
export function state(name: string, unit: string, value: number, goal?: Goal): Figure {
  return judge({ name, unit, value, ...(goal === undefined ? {} : { goal }) });
}

function judge(figure: Omit<Figure, 'isMet'>): Figure {
  const { goal, value, ratio } = figure;
  if (goal === undefined) return figure;
  if ('valueMax' in goal) return { ...figure, isMet: value <= goal.valueMax };
  if ('referenceMin' in goal) return { ...figure, isMet: value >= goal.referenceMin };
  if (ratio === undefined) throw new Error(`${figure.name} has a goal for a ratio and is compared with nothing`);
  const isMet = 'ratioMax' in goal ? ratio.median <= goal.ratioMax : ratio.median >= goal.ratioMin;
  return { ...figure, isMet };
}

/** Whether the figure fails `--check`. */
export function isMissed({ goal, isMet }: Figure): boolean {
  return isMet === false && goal !== undefined && !('referenceMin' in goal);
}

const RESULTS = 'test/src/bench/RESULTS.md';
/** The root of this checkout. */
export const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** Replaces the bench's figures in RESULTS.md. Records only those with a goal, if any has one. */
export function recordFigures(bench: string, figures: readonly Figure[]): void {
  const file = join(ROOT, RESULTS);
  const heading = `## ${bench}, ${availableParallelism()} cores`;
  const [head = '', ...sections] = readFileSync(file, 'utf8')
    .trimEnd()
    .split(/\n\n(?=## )/);
  const judged = figures.filter(({ goal }) => goal !== undefined);
  const table = formatFigures(judged.length > 0 ? judged : figures);
  const section = `${heading}\n\n${new Date().toISOString().slice(0, 10)}, commit ${readCommit()}.\n\n${table}`;
  const others = sections.filter((one) => !one.startsWith(`${heading}\n`));
  writeFileSync(file, `${[head, section, ...others].join('\n\n')}\n`);
}

/** The commit's short hash. Ends with a `+` if the checkout has changes outside of RESULTS.md. */
function readCommit(): string {
  const git = (...words: string[]) => execFileSync('git', words, { cwd: ROOT, encoding: 'utf8' }).trim();
  try {
    const changes = git('status', '--porcelain', '--', '.', `:!${RESULTS}`);
    return `${git('rev-parse', '--short', 'HEAD')}${changes === '' ? '' : '+'}`;
  } catch {
    // This is neither a clone nor a worktree.
    return '–';
  }
}

/** The figures as a table in Markdown. */
export function formatFigures(figures: readonly Figure[]): string {
  const rows = figures.map((figure) => [figure.name, describe(figure), describeGoal(figure)]);
  const table = [['row', 'figure', 'goal'], ...rows];
  const widths = table[0]?.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0))) ?? [];
  const lines = table.map((row) => rowOf(row.map((cell, column) => cell.padEnd(widths[column] ?? 0))));
  lines.splice(1, 0, rowOf(widths.map((width) => '-'.repeat(width))));
  return lines.join('\n');
}

/** Matches a measured value in a name. It differs from run to run. */
const MEASURED = /[\d,]+ (?=orders per s|facts)/;
const ROW = /^\| (?<name>.+?) +\| (?:\*\*.*: )?(?<value>-?[\d,.]+)(?: by -?[\d,.]+)? (?<unit>.+?) +\|/gm;

/** The values in the table of a bench, without what they were compared with. */
export function readFigures(table: string): readonly Figure[] {
  return [...table.matchAll(ROW)].map(({ groups = {} }) => {
    const { name = '', value = '', unit = '' } = groups;
    return state(name.replace(MEASURED, ''), unit, Number(value.replaceAll(',', '')));
  });
}

function rowOf(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}

/** `**1.49** (1.31–1.60): 150 by 101 µs`, or `5.58 ms`. */
function describe({ unit, value, floor, ratio }: Figure): string {
  if (floor === undefined || ratio === undefined) return `${format(value)} ${unit}`;
  const spread = ratio.min === ratio.max ? '' : ` (${format(ratio.min)}–${format(ratio.max)})`;
  return `**${format(ratio.median)}**${spread}: ${format(value)} by ${format(floor)} ${unit}`;
}

/** Keeps three significant digits, or all digits before the point. */
function format(value: number): string {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return round(value, digits).toLocaleString('en');
}

function describeGoal({ goal, unit, isMet }: Figure): string {
  if (goal === undefined) return '';
  const bound = (value: number) => value.toLocaleString('en');
  const judged = (text: string) => (isMet === false ? `${text}: **missed**` : text);
  if ('valueMax' in goal) return judged(`≤ ${bound(goal.valueMax)} ${unit}`);
  if ('referenceMin' in goal) return judged(`≥ ${bound(goal.referenceMin)} ${unit}, for reference`);
  return judged('ratioMax' in goal ? `≤ ${goal.ratioMax}` : `≥ ${goal.ratioMin}`);
}
