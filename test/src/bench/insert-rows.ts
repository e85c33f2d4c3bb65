import { orderFromBody, recordStart } from '@makerbook/domain';
import { connectPostgres, type HistoryRow, migrate, type OrderRow, type Postgres, shapes } from '@makerbook/postgres';
import { type MixedLog, mixedFacts, take } from './mixed-log.js';

/** The cost of inserting a log's rows without folding the log. */
export interface RowsFloor {
  readonly rows: number;
  readonly seconds: number;
}

type Insert = () => Promise<unknown>;

const SCHEMA = 'floor';
const CONNECTIONS = 4;
const ROWS_PER_STATEMENT = 1_000;
const STATEMENT_MS_MAX = 600_000;
/** Partitions whose rows are held in memory together. */
const PARTITIONS_AT_ONCE = 8;

/**
 * The floor of a projection: inserts the same rows in bulk into empty tables of the same Postgres. It inserts each
 * order as it was opened, and its whole history, on as many connections as the projector commits on. It updates and
 * deletes nothing. Reading and preparing the rows does not count, but making the statements does.
 * @param live holds the history
 * @param ends the number of facts in each partition
 */
export async function insertRows(
  live: Postgres,
  databaseUrl: string,
  mixed: MixedLog,
  ends: readonly bigint[],
): Promise<RowsFloor> {
  await live.query(`drop schema if exists ${SCHEMA} cascade`);
  await migrate({ url: databaseUrl, schema: SCHEMA });
  const connection = { url: databaseUrl, schema: SCHEMA, statementTimeoutMs: STATEMENT_MS_MAX };
  const empty = connectPostgres({ ...connection, poolMax: CONNECTIONS, synchronousCommit: 'off' });
  let [rows, tookMs] = [0, 0];
  try {
    for (let from = 0; from < mixed.partitions; from += PARTITIONS_AT_ONCE) {
      const inserts: Insert[] = [];
      for (let partition = from; partition < Math.min(from + PARTITIONS_AT_ONCE, mixed.partitions); partition += 1) {
        const orders = openedOrders(partition, mixed, Number(ends[partition]));
        const history = await live.query('select * from order_history where partition = $1', [partition]);
        rows += orders.length + history.length;
        const ofPartition = { empty, partition };
        inserts.push(
          ...insertsOf('orders', shapes.order, orders, ofPartition),
          ...insertsOf(
            'order_history',
            shapes.history,
            history.map((row) => shapes.history.read(row)),
            ofPartition,
          ),
        );
      }
      const startedAtMs = performance.now();
      const left = inserts.values();
      await Promise.all(
        Array.from({ length: CONNECTIONS }, async () => {
          for (const insert of left) await insert();
        }),
      );
      tookMs += performance.now() - startedAtMs;
    }
  } finally {
    await empty.close();
  }
  return { rows, seconds: tookMs / 1000 };
}

function insertsOf<Row extends OrderRow | HistoryRow>(
  table: string,
  shape: { readonly list: string; given(first: number): string; toArrays(rows: readonly Row[]): Buffer[] },
  rows: readonly Row[],
  { empty, partition }: { readonly empty: Postgres; readonly partition: number },
): Insert[] {
  const sql = `insert into ${table} (partition, ${shape.list}) select $1, ${shape.list} from ${shape.given(2)}`;
  return Array.from({ length: Math.ceil(rows.length / ROWS_PER_STATEMENT) }, (_, n) => () => {
    const some = rows.slice(n * ROWS_PER_STATEMENT, (n + 1) * ROWS_PER_STATEMENT);
    return empty.query(sql, [partition, ...shape.toArrays(some)], `insert ${table}`);
  });
}

function openedOrders(partition: number, mixed: MixedLog, facts: number): OrderRow[] {
  const rows: OrderRow[] = [];
  let offset = 0n;
  for (const { fact } of take(mixedFacts(partition, mixed), facts)) {
    if (fact.type === 'OrderSubmitted') {
      const { orderHash, maker, signature, acceptedAtMs } = fact;
      const order = orderFromBody(fact.order);
      const { token, amount } = order.making;
      const state = {
        remaining: String(amount),
        isObserved: false,
        status: 'VALIDATING',
        reason: null,
        inBook: true,
        cappedUntil: 0,
      };
      const start = recordStart({ order, orderHash, signature });
      const place = { acceptedOffset: offset, acceptedAtMs, expiresAtSeconds: Number(order.expiresAt) };
      rows.push({
        ...state,
        ...place,
        orderHash,
        maker,
        makingToken: token,
        makingAmount: String(amount),
        recordStart: start,
        walletSignature: null,
      });
    }
    offset += 1n;
  }
  return rows;
}
