import type { Hex } from '@makerbook/contracts-primitives';
import type { Postgres } from './connect-postgres.js';
import { projectedPositions } from './projected-positions.js';
import type { HashKey } from './projection-rows.js';
import { readListState, readMakerList } from './read-lists.js';
import { findEnded, findOrders, hasQuarantined, loadReservations } from './read-orders.js';

/** The rows as those see them who only read them. */
export type ReadModel = ReturnType<typeof openReadModel>;

export function openReadModel(postgres: Postgres) {
  return {
    projectedPositions: () => projectedPositions(postgres),
    hasQuarantined: () => hasQuarantined(postgres),
    findOrders: (orderHashes: readonly Hex[]) => findOrders(postgres, orderHashes),
    findEnded: (hashes: readonly HashKey[]) => findEnded(postgres, hashes),
    loadReservations: (maker: Hex, partition: number, nowSeconds: number) =>
      loadReservations(postgres, maker, partition, nowSeconds),
    readListState: (maker: Hex) => readListState(postgres, maker),
    readMakerList: (maker: Hex) => readMakerList(postgres, maker),
  };
}
