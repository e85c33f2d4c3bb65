import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type Figure, state } from './report.js';

const HEAP_MB_MAX = 1024;
const program = fileURLToPath(new URL('hold-book.js', import.meta.url));

/** Measures a book with ranked orders of one pair, in a child process with a heap of 1 GB. */
export async function measureRouter(orders: number): Promise<readonly Figure[]> {
  const flags = ['--expose-gc', `--max-old-space-size=${HEAP_MB_MAX}`];
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, program, String(orders)]);
  const { heapMb, rssMb, changeUs, quoteUs, quoteP99Us, fills } = JSON.parse(stdout) as Record<string, number>;
  const book = `a router's book of ${orders.toLocaleString('en')} orders`;
  return [
    state(`heap of ${book}`, 'MB', heapMb ?? Number.NaN, { valueMax: 1_000 }),
    state(`RSS of ${book}`, 'MB', rssMb ?? Number.NaN),
    state(`ranking a change in ${book}, p50`, 'µs', changeUs ?? Number.NaN),
    state(`quote of ${fills} orders from ${book}, p50`, 'µs', quoteUs ?? Number.NaN, { valueMax: 50 }),
    state(`quote of ${fills} orders from ${book}, p99`, 'µs', quoteP99Us ?? Number.NaN),
  ];
}
