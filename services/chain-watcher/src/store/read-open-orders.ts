import type { Hex } from '@makerbook/contracts-primitives';
import {
  type PartitionClockRow,
  type Postgres,
  type Query,
  type RowOf,
  RowShape,
  readPartitionClocks,
  seeOneMoment,
} from '@makerbook/postgres';

/** The fields of an open order that a chain-watcher needs. */
const openOrder = {
  orderHash: 'bytea',
  maker: 'bytea',
  makingToken: 'bytea',
  takingToken: 'bytea',
  expiresAtSeconds: 'number',
  /** False while the order is VALIDATING: a `MakerObserved` still has to name it. */
  isRead: 'boolean',
  /** The signature that the maker's contract accepted; null if the maker's key signed. */
  walletSignature: 'bytea?',
} as const;
export type OpenOrderRow = RowOf<typeof openOrder>;

/**
 * The text before a record's taking token. Finding its position and cutting there takes Postgres half as long again.
 */
const TAKING = '"taking":{"token":"0x';

const shape = new RowShape<OpenOrderRow>(openOrder);

/** How far the projection of one partition has come. */
export interface ProjectedPartition extends PartitionClockRow {
  /** The newest block at which a known nonce or known funds were read; -1 if there are none. */
  readonly newestRead: number;
  /** Every maker that the log names up to there. */
  readonly makers: readonly Hex[];
  /** Makers in quarantine. Their orders are as they were before this offset, whatever the position. */
  readonly quarantined: ReadonlyMap<Hex, bigint>;
}

/**
 * Passes all open orders to the callback, page by page, and returns the positions that they reflect: one snapshot of
 * the projection. After an error the caller starts over, and gets the same pages again.
 * @throws PostgresUnavailable, PostgresRefused
 */
export function readOpenOrders(
  postgres: Postgres,
  onOrders: (orders: readonly OpenOrderRow[]) => void,
  pageRows = 10_000,
): Promise<readonly ProjectedPartition[]> {
  return postgres.transaction(async (query) => {
    await query(seeOneMoment);
    const partitions = await readPartitions(query);
    await query(
      `declare open_orders no scroll cursor for select ${shape.list} from (
         select *, status <> 'VALIDATING' as is_read,
           decode(left(split_part(record_start, '${TAKING}', 2), 40), 'hex') as taking_token
         from orders) orders`,
    );
    const fetchPage = () => query(`fetch ${pageRows} from open_orders`);
    for (let page = fetchPage(); ; ) {
      const rows = await page;
      if (rows.length === 0) return partitions;
      // Let Postgres prepare the next page meanwhile.
      page = fetchPage();
      page.catch(() => undefined);
      onOrders(rows.map((row) => shape.read(row)));
    }
  });
}

async function readPartitions(query: Query): Promise<ProjectedPartition[]> {
  const clocks = await readPartitionClocks({ query });
  const reads = await query<{ readonly partition: number; readonly newest_read: bigint | null }>(
    `select partition, max(greatest(nonce_block, funding.block)) as newest_read
     from makers left join funding using (maker) group by partition`,
  );
  const newestReads = new Map(reads.map(({ partition, newest_read: block }) => [partition, Number(block ?? -1)]));
  const makers = Map.groupBy(
    await query<MakerOfPartition>('select maker, partition, quarantined_offset from makers'),
    ({ partition }) => partition,
  );
  return clocks.map((clock) => {
    const own = makers.get(clock.partition) ?? [];
    return {
      ...clock,
      newestRead: newestReads.get(clock.partition) ?? -1,
      makers: own.map(({ maker }) => maker),
      quarantined: new Map(own.flatMap(({ maker, quarantined_offset: at }) => (at === null ? [] : [[maker, at]]))),
    };
  });
}

interface MakerOfPartition {
  readonly maker: Hex;
  readonly partition: number;
  readonly quarantined_offset: bigint | null;
}
