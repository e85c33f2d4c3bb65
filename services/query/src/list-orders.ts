import type { RequestHashers } from '@makerbook/contracts-evm';
import { type ApiRequest, isRefusal, okJson, type Reply } from '@makerbook/http';
import { partitionOf } from '@makerbook/kafka';
import { type Asker, answerSigned, lagHeader, listUnknown, logIsAway, type SignedParts } from './answer-signed.js';
import type { Cursors } from './cursor.js';
import { parseListRequest } from './parse-requests.js';
import type { Listing, Page } from './read-list.js';

export interface ListOrdersParts extends SignedParts {
  readonly hashers: Pick<RequestHashers, 'hashGetRequest'>;
  /** Resolves to undefined if no list is known. */
  readonly readList: (asker: Asker, page: Page) => Promise<Listing | undefined>;
  readonly cursors: Cursors;
  readonly partitions: number;
  /** Counts the list. */
  readonly listed: (listing: Listing) => void;
}

/** Answers GET of a maker's limit orders. Checks the shape, then the signed request, then reads the list. */
export async function listOrders(request: ApiRequest, parts: ListOrdersParts): Promise<Reply> {
  const asked = parseListRequest(request.query, parts.hashers);
  if (isRefusal(asked)) return asked;
  return answerSigned(request, asked, parts, async (asker) => {
    const { ordersMax, after, only } = asked;
    const home = partitionOf(asker.maker, parts.partitions);
    const listing = await parts.readList(asker, { ordersMax, from: after?.place.offset, only });
    if (listing === undefined) return listUnknown;
    const { body, etag, version, next, lag, cancelAt } = listing;
    const refusal = after && (await parts.cursors.refuse(after, asker.maker, version + 1n));
    if (refusal !== undefined) return refusal;
    const nextCursor = next === undefined ? '' : await parts.cursors.cursorOf(home, { offset: next });
    if (nextCursor === undefined) return logIsAway;
    parts.listed(listing);
    return okJson(body, {
      'Cache-Control': 'private, no-store',
      ETag: etag,
      'X-List-Version': String(version),
      ...(cancelAt > 0 ? { 'X-Cancel-All-At': String(cancelAt) } : {}),
      ...(nextCursor === '' ? {} : { 'X-Next-Cursor': nextCursor }),
      ...lagHeader(lag),
    });
  });
}
