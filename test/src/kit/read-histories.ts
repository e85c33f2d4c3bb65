import type { HistoryRequest, MakerbookClient, OrderHistory } from '@makerbook/client';

/** Reads a maker's history to its end, page by page. */
export async function* readHistory(
  client: Pick<MakerbookClient, 'readHistory'>,
  asked: HistoryRequest,
): AsyncGenerator<OrderHistory['entries'][number]> {
  for (let page: OrderHistory | undefined; page === undefined || page.hasMore; ) {
    page = await client.readHistory({ ...asked, cursor: page?.nextCursor ?? asked.cursor });
    yield* page.entries;
  }
}
