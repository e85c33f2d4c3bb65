import type { Postgres } from '../connect-postgres.js';

/** One hash for each table that the fold makes: two projections of the same log at the same position have the same. */
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

/** Each row hashed, the hashes in order hashed: no row's order in the table counts, and memory stays small. */
const hashOf = `encode(sha256(coalesce(string_agg(sha256(convert_to(t::text, 'UTF8')), ''::bytea
  order by sha256(convert_to(t::text, 'UTF8'))), ''::bytea)), 'hex')`;
