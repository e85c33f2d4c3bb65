import type { Postgres } from '../connect-postgres.js';

/** One hash for each table that the fold makes. Projections of one log at one position have the same hashes. */
export interface ReadModelHash {
  readonly orders: string;
  readonly makers: string;
  readonly funding: string;
  readonly history: string;
  readonly fills: string;
  readonly hashes: string;
}

/** Hashes every row of the read model. Reads all of it: for rebuilds and tests. */
export async function hashReadModel(postgres: Postgres): Promise<ReadModelHash> {
  const [row] = await postgres.query<ReadModelHash>(`
    select
      (select ${hashOf} from orders t) as orders,
      (select ${hashOf} from makers t) as makers,
      (select ${hashOf} from funding t) as funding,
      (select ${hashOf} from order_history t) as history,
      (select ${hashOf} from fills t) as fills,
      (select ${hashOf} from hashes t) as hashes`);
  if (row === undefined) throw new Error('a select without a from clause gave no row');
  return row;
}

/** Hashes each row, then the sorted hashes. The order of rows in the table does not count, and memory stays small. */
const hashOf = `encode(sha256(coalesce(string_agg(sha256(convert_to(t::text, 'UTF8')), ''::bytea
  order by sha256(convert_to(t::text, 'UTF8'))), ''::bytea)), 'hex')`;
