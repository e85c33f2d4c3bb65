import type { Hex } from '@makerbook/contracts-primitives';
import type { Postgres } from './connect-postgres.js';
import { PostgresUnavailable } from './failures.js';
import { gatherCalls } from './gather-calls.js';

interface Decided {
  /** What is left of the budget of each maker. */
  readonly remaining: readonly number[];
}

interface OfMakers<Maker = { readonly maker: Hex }> {
  readonly makers: readonly Maker[];
}

/** A function in Postgres that decides about one request of some makers, and returns one row. */
export interface Decision<Request, Row extends Decided, Outcome> {
  readonly name: string;
  /** Of the row. */
  readonly columns: string;
  /** How many orders the request is about. */
  readonly sizeOf: (request: Request) => number;
  readonly valuesOf: (request: Request) => readonly unknown[];
  readonly outcomeOf: (row: Row) => Outcome;
  /** One request that stands for all of these, in the order of makers; undefined where each needs a decision of its own. */
  readonly merge: (requests: readonly Request[]) => Request | undefined;
  /** False of a merged request that was refused, which has left nothing behind. */
  readonly isGranted: (row: Row) => boolean;
}

const REQUESTS_MAX = 64;
const SMALL_SIZE_MAX = 10;

/**
 * Small requests that wait share a statement, which decides them as one: nearly always all of them are granted. Where they are
 * not, a second statement decides each for itself, in the order of makers. A large request, or one of several makers, has its
 * own statement.
 */
export function shareStatements<Request extends OfMakers, Row extends Decided, Outcome>(
  postgres: Pick<Postgres, 'query'>,
  { name, columns, sizeOf, valuesOf, outcomeOf, merge, isGranted }: Decision<Request, Row, Outcome>,
): (request: Request) => Promise<Outcome> {
  const sqlOf = unionOf(name, columns);
  const makerOf = ({ makers }: Request) => makers[0]?.maker ?? '';

  async function call(requests: readonly Request[]): Promise<readonly Row[]> {
    const values = requests.map(valuesOf);
    const sql = sqlOf(requests.length, values[0]?.length ?? 0);
    const rows = await postgres.query<Row>(sql, values.flat(), `${name} ${requests.length}`);
    if (rows.length !== requests.length) throw new Error(`${name} returned another number of rows`);
    return rows;
  }

  async function decide(requests: readonly Request[]): Promise<readonly Outcome[]> {
    const merged = requests.length > 1 ? merge(requests) : undefined;
    const [row] = merged === undefined ? [] : await call([merged]);
    if (row === undefined || !isGranted(row)) return decideEach(requests);
    return splitRemaining(row.remaining, requests, sizeOf).map((left) => outcomeOf({ ...row, remaining: [left] }));
  }

  /** By statements for powers of two, so that a connection prepares few. */
  async function decideEach(requests: readonly Request[]): Promise<readonly Outcome[]> {
    const outcomes: Outcome[] = [];
    while (outcomes.length < requests.length) {
      const left = requests.slice(outcomes.length);
      const some = left.slice(0, 2 ** Math.floor(Math.log2(left.length)));
      outcomes.push(...(await call(some)).map(outcomeOf));
    }
    return outcomes;
  }

  const shared = {
    count: () => REQUESTS_MAX,
    compare: (a: Request, b: Request) => (makerOf(a) < makerOf(b) ? -1 : Number(makerOf(a) > makerOf(b))),
    decide,
    isOfOne: isRace,
  };
  const together = gatherCalls({ ...shared, atOnceMax: 1 });
  const alone = gatherCalls({ ...shared, atOnceMax: Number.POSITIVE_INFINITY });
  return (request) => {
    const isSmall = request.makers.length <= 1 && sizeOf(request) <= SMALL_SIZE_MAX;
    return isSmall ? together(request) : alone(request);
  };
}

/** @param requests of one maker each, in the order of makers. @returns each maker once, and which of them is the one of each request */
export function mergeMakers<Maker extends { readonly maker: Hex }>(requests: readonly OfMakers<Maker>[]) {
  const makers: Maker[] = [];
  const places = requests.map((request) => {
    if (request.makers[0]?.maker !== makers.at(-1)?.maker) makers.push(...request.makers);
    return makers.length - 1;
  });
  return { makers, places };
}

/** What was left of the maker's budget after each request: its later ones took the rest of what is left in the end. */
function splitRemaining<Request extends OfMakers>(
  inTheEnd: readonly number[],
  requests: readonly Request[],
  sizeOf: (request: Request) => number,
): number[] {
  const { places } = mergeMakers(requests);
  const left = [...inTheEnd];
  const remaining: number[] = [];
  for (const [index, request] of [...requests.entries()].reverse()) {
    const place = places[index] ?? 0;
    remaining[index] = left[place] ?? 0;
    left[place] = remaining[index] + sizeOf(request);
  }
  return remaining;
}

/** One call after the other: an Append reads its parts in their order. */
function unionOf(name: string, columns: string): (calls: number, values: number) => string {
  const sqls = new Map<number, string>();
  return (calls, values) => {
    const known = sqls.get(calls);
    if (known !== undefined) return known;
    const selects = Array.from({ length: calls }, (_, call) => {
      const places = Array.from({ length: values }, (_, value) => `$${call * values + value + 1}`);
      return `select ${columns} from ${name}(${places.join(', ')})`;
    });
    const sql = selects.join(' union all ');
    sqls.set(calls, sql);
    return sql;
  };
}

/** The statement has met another one that decides about the same hash. */
function isRace(error: unknown): boolean {
  const code = error instanceof PostgresUnavailable ? (error.cause as { code?: string } | undefined)?.code : undefined;
  return code === '40001' || code === '40P01';
}
