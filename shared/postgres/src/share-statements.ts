import type { Hex } from '@makerbook/contracts-primitives';
import type { Postgres } from './connect-postgres.js';
import { PostgresUnavailable } from './failures.js';
import { gatherCalls } from './gather-calls.js';

/** A function in Postgres that decides about one request of some makers, and returns one row. */
export interface Decision<Request, Row extends object, Outcome> {
  readonly name: string;
  /** Of the row. */
  readonly columns: string;
  /** How many orders the request is about. */
  readonly sizeOf: (request: Request) => number;
  readonly valuesOf: (request: Request) => readonly unknown[];
  readonly outcomeOf: (row: Row) => Outcome;
}

/** Powers of two, so that a connection prepares few statements. */
const REQUESTS_PER_STATEMENT = [64, 32, 16, 8, 4, 2, 1];
const SMALL_SIZE_MAX = 10;

/**
 * Small requests share a statement. Each is decided for itself, in the order of makers. A large request, or one of several
 * makers, has its own statement.
 */
export function shareStatements<
  Request extends { readonly makers: readonly { readonly maker: Hex }[] },
  Row extends object,
  Outcome,
>(
  postgres: Pick<Postgres, 'query'>,
  { name, columns, sizeOf, valuesOf, outcomeOf }: Decision<Request, Row, Outcome>,
): (request: Request) => Promise<Outcome> {
  const sqlOf = unionOf(name, columns);
  const makerOf = ({ makers }: Request) => makers[0]?.maker ?? '';
  const shared = {
    count: (waiting: readonly Request[]) => REQUESTS_PER_STATEMENT.find((count) => count <= waiting.length) ?? 1,
    compare: (a: Request, b: Request) => (makerOf(a) < makerOf(b) ? -1 : Number(makerOf(a) > makerOf(b))),
    async decide(requests: readonly Request[]) {
      const values = requests.map(valuesOf);
      const sql = sqlOf(requests.length, values[0]?.length ?? 0);
      const rows = await postgres.query<Row>(sql, values.flat(), `${name} ${requests.length}`);
      if (rows.length !== requests.length) throw new Error(`${name} returned another number of rows`);
      return rows.map(outcomeOf);
    },
    isOfOne: isRace,
  };
  const together = gatherCalls({ ...shared, atOnceMax: 1 });
  const alone = gatherCalls({ ...shared, atOnceMax: Number.POSITIVE_INFINITY });
  return (request) => {
    const isSmall = request.makers.length <= 1 && sizeOf(request) <= SMALL_SIZE_MAX;
    return isSmall ? together(request) : alone(request);
  };
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
