import { listQuery } from '@makerbook/contracts-http';
import type { Hex } from '@makerbook/contracts-primitives';
import { isRefusal, type Refusal, readQuery } from '@makerbook/http';
import type { Page } from './take-page.js';

/** A list request, parsed from the query. */
export interface ListRequest {
  /** Unix seconds; any uint256. */
  readonly issuedAt: bigint;
  /** The domain's salt, padded to 32 bytes on the left; 64 hex digits after 0x, lowercase. */
  readonly salt: Hex;
  /** Hex bytes; whether they are a signature is checked later. */
  readonly signature: string;
  /** The part of the list that is asked for: all of it, unless there is a limit or a cursor. */
  readonly page: Page;
}

/** Reads the parameters of a GET. */
export function parseListRequest(query: URLSearchParams): ListRequest | Refusal {
  const asked = readQuery(query, listQuery);
  if (isRefusal(asked)) return asked;
  const { issuedAt, salt, signature, limit, cursor } = asked;
  return {
    issuedAt,
    salt: `0x${salt.slice(2).toLowerCase().padStart(64, '0')}`,
    signature,
    page: { ordersMax: limit, after: cursor },
  };
}
