import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { median, round } from '../kit/summarise.js';

/** What a bench is asked for. */
export interface BenchOptions {
  /** A tenth of the samples or so, to see that it works. */
  readonly isQuick: boolean;
  /** The root of another checkout, built: its services are measured beside these, by the benches that can. */
  readonly against?: string | undefined;
  /** Of sustained load. */
  readonly minutes: number;
}

/** What one round measured, beside what it is compared with in the same round. */
export interface Sample {
  readonly value: number;
  readonly floor: number;
}

/** A bound of the median ratio, or of the value itself where there is nothing to compare it with. */
export type Goal = { readonly ratioMax: number } | { readonly ratioMin: number } | { readonly valueMax: number };

/** One row of the report. Value and floor are medians over the rounds; the ratios are of value and floor of one round. */
export interface Figure {
  readonly name: string;
  readonly unit: string;
  readonly value: number;
  readonly floor?: number;
  readonly ratio?: { readonly min: number; readonly median: number; readonly max: number };
  readonly goal?: Goal;
  readonly reached?: boolean;
}

/** What `.bench/<name>.json` holds. */
export interface Report {
  readonly bench: string;
  readonly finishedAt: string;
  readonly isQuick: boolean;
  readonly machine: {
    readonly node: string;
    readonly cores: number;
    readonly model: string;
    /** Of the last minute: other work is in it. */
    readonly load: number;
  };
  readonly figures: readonly Figure[];
}

/** Two things measured in turn, once in each round. */
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

/** What has no counterpart: a promise in milliseconds or bytes, or a figure for orientation. */
export function state(name: string, unit: string, value: number, goal?: { readonly valueMax: number }): Figure {
  return judge({ name, unit, value, ...(goal === undefined ? {} : { goal }) });
}

function judge(figure: Omit<Figure, 'reached'>): Figure {
  const { goal, value, ratio } = figure;
  if (goal === undefined) return figure;
  if ('valueMax' in goal) return { ...figure, reached: value <= goal.valueMax };
  if (ratio === undefined) throw new Error(`${figure.name} has a goal for a ratio and is compared with nothing`);
  const reached = 'ratioMax' in goal ? ratio.median <= goal.ratioMax : ratio.median >= goal.ratioMin;
  return { ...figure, reached };
}

/** Ignored by git. */
export const BENCH_FOLDER = fileURLToPath(new URL('../../../.bench', import.meta.url));

/** Writes `.bench/<name>.json` for whoever compares runs. */
export function writeReport(bench: string, isQuick: boolean, figures: readonly Figure[]): void {
  mkdirSync(BENCH_FOLDER, { recursive: true });
  const machine = {
    node: process.version,
    cores: availableParallelism(),
    model: cpus()[0]?.model ?? '',
    load: round(loadavg()[0] ?? 0, 1),
  };
  const report: Report = { bench, finishedAt: new Date().toISOString(), isQuick, machine, figures };
  writeFileSync(join(BENCH_FOLDER, `${bench}.json`), `${JSON.stringify(report, null, 2)}\n`);
}

/** @throws Error where the bench has not been run */
export function readReport(bench: string): Report {
  return JSON.parse(readFileSync(join(BENCH_FOLDER, `${bench}.json`), 'utf8')) as Report;
}

/** The figures as a table in Markdown, as README.md has it. */
export function formatFigures(figures: readonly Figure[]): string {
  const rows = figures.map(({ name, unit, value, floor, ratio, goal, reached }) => [
    name,
    unit,
    format(value),
    floor === undefined ? '' : format(floor),
    ratio === undefined ? '' : `**${format(ratio.median)}** (${format(ratio.min)}–${format(ratio.max)})`,
    goal === undefined ? '' : describeGoal(goal),
    reached === undefined ? '' : reached ? 'yes' : '**no**',
  ]);
  const table = [['figure', 'unit', 'value', 'floor', 'ratio (min–max)', 'goal', 'reached'], ...rows];
  const widths = table[0]?.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0))) ?? [];
  const lines = table.map((row) => `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`);
  lines.splice(1, 0, `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`);
  return lines.join('\n');
}

/** Three digits that count. */
function format(value: number): string {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return round(value, digits).toLocaleString('en');
}

function describeGoal(goal: Goal): string {
  if ('valueMax' in goal) return `value ≤ ${goal.valueMax}`;
  return 'ratioMax' in goal ? `≤ ${goal.ratioMax}` : `≥ ${goal.ratioMin}`;
}
