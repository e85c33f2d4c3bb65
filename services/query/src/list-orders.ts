import type { RequestHashers } from '@makerbook/contracts-evm';
import { type ApiRequest, isRefusal, okJson, type Reply } from '@makerbook/http';
import { type Asker, answerSigned, lagHeader, listUnknown, type SignedParts } from './answer-signed.js';
import { parseListRequest } from './parse-requests.js';
import type { Listing } from './read-list.js';
import type { Page } from './take-page.js';

export interface ListOrdersParts extends SignedParts {
  readonly hashers: Pick<RequestHashers, 'hashGetRequest'>;
  /** Undefined where no list is known. */
  readonly readList: (asker: Asker, page: Page) => Promise<Listing | undefined>;
  /** Counts the list. */
  readonly listed: (listing: Listing) => void;
}

/** GET of a maker's limit orders: shape, then the checks of a signed request, then the list. */
export async function listOrders(request: ApiRequest, parts: ListOrdersParts): Promise<Reply> {
  const asked = parseListRequest(request.query, parts.hashers);
  if (isRefusal(asked)) return asked;
  return answerSigned(request, asked, parts, async (asker) => {
    const listing = await parts.readList(asker, asked.page);
    if (listing === undefined) return listUnknown;
    parts.listed(listing);
    const { body, etag, version, nextCursor, lag, cancelAt } = listing;
    return okJson(body, {
      'Cache-Control': 'private, no-store',
      ETag: etag,
      'X-List-Version': String(version),
      ...(cancelAt > 0 ? { 'X-Cancel-All-At': String(cancelAt) } : {}),
      ...(nextCursor === undefined ? {} : { 'X-Next-Cursor': nextCursor }),
      ...lagHeader(lag),
    });
  });
}
