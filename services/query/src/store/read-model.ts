import type { Hex } from '@makerbook/contracts-primitives';
import type { Postgres } from '@makerbook/postgres';
import { readPartitionClocks } from '@makerbook/postgres';
import { type HistoryQuery, type NewsQuery, readMakerHistory, readNews } from './read-histories.js';
import { readListChanges, readListState, readMakerList } from './read-lists.js';
import { readMaker } from './read-maker.js';
import { readOrderHistory } from './read-order-history.js';

/** The rows as those see them who only read them. */
export type ReadModel = ReturnType<typeof openReadModel>;

export function openReadModel(postgres: Postgres) {
  return {
    readListState: (maker: Hex) => readListState(postgres, maker),
    readMaker: (maker: Hex) => readMaker(postgres, maker),
    readMakerList: (maker: Hex) => readMakerList(postgres, maker),
    readListChanges: (maker: Hex, since: bigint) => readListChanges(postgres, maker, since),
    readOrderHistory: (maker: Hex, orderHash: Hex, entriesMax: number, before?: bigint) =>
      readOrderHistory(postgres, maker, orderHash, entriesMax, before),
    readPartitionClocks: () => readPartitionClocks(postgres),
    readNews: (asked: NewsQuery) => readNews(postgres, asked),
    readMakerHistory: (asked: HistoryQuery) => readMakerHistory(postgres, asked),
  };
}
