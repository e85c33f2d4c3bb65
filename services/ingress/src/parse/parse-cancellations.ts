import { cancellationInputs, cancellationsQuery, cancelQuery } from '@makerbook/contracts-http';
import type { Hex } from '@makerbook/contracts-primitives';
import { boundedSeconds } from '@makerbook/domain';
import { type ApiRequest, hasBody, isRefusal, parseAs, type Refusal, readQuery, refuseFields } from '@makerbook/http';
import {
  describeSignatureRefusal,
  isSignatureRefusal,
  parseSignature,
  type Signature,
  type SignatureRefusal,
} from '@makerbook/signatures';
import type { z } from 'zod';

interface Item {
  readonly orderHash: Hex;
  readonly signature: string;
  readonly salt?: Hex | undefined;
  readonly expiresAt?: Hex | undefined;
  readonly remainingMakingAmount?: Hex | undefined;
}

export interface AskedCancellation {
  /** Lowercase. */
  readonly orderHash: Hex;
  /** A refusal only if a contract may accept what no key can have made. */
  readonly signature: Signature | SignatureRefusal;
  /** The signature as it was sent, in lowercase hex. */
  readonly text: Hex;
  /** The salt of the signed domain, if the request names it. Minimal or not, at most 32 bytes. */
  readonly salt: Hex | undefined;
  /** When the order expires, if the request says it, as `boundedSeconds` has it. */
  readonly expiresAtSeconds?: number | undefined;
  /** What a replacement expects to be left of the order. Undefined: all of it. */
  readonly remaining?: bigint | undefined;
}

export interface AskedCancellations {
  /** The cancellations in the order of the request; a hash may be repeated. */
  readonly cancellations: readonly AskedCancellation[];
  /** The JSON pointer to a signature of the request. */
  readonly signatureAt: (index: number) => string;
}

type Asking = Pick<ApiRequest, 'body' | 'query'>;
type AskingByQuery = Pick<ApiRequest, 'query' | 'headers'>;

/**
 * Parses the query of a DELETE: two lists of one length. The n-th signature belongs to the n-th hash. Refuses a text
 * that is no signature with `invalid_signature`.
 * @param ofWallets true if contracts may accept signatures of any form
 */
export function parseCancellationQuery(
  { query, headers }: AskingByQuery,
  hashesMax: number,
  ofWallets = false,
): AskedCancellations | Refusal {
  const asked = readQuery(query, cancelQuery, hashesMax);
  if (isRefusal(asked)) {
    const remedy = 'a DELETE takes no body: put the lists into the query, or use POST …/cancellations';
    return hasBody({ headers }) ? { ...asked, detail: `${asked.detail}; ${remedy}` } : asked;
  }
  const { orderHashes, signatures, ...ofAll } = asked;
  if (orderHashes.length !== signatures.length) {
    const message = `holds ${signatures.length} signatures for ${orderHashes.length} order hashes`;
    return refuseFields([{ path: ['signatures'], message }]);
  }
  const items = orderHashes.map((orderHash, index) => ({ orderHash, signature: signatures[index] ?? '' }));
  return readItems(items, ofAll, (index) => `/signatures/${index}`, ofWallets);
}

/**
 * Parses the body of a POST: an array of `orderHash`, `signature` and perhaps the order's `salt` and `expiresAt`. Items
 * without the last two take those of the query.
 * @param schema the schema of the body: the list of a replacement has more
 */
export function parseCancellationBody(
  { body, query }: Asking,
  hashesMax: number,
  ofWallets = false,
  schema: z.ZodType<readonly Item[]> = cancellationInputs,
): AskedCancellations | Refusal {
  if (Array.isArray(body) && body.length > hashesMax) {
    return refuseFields([{ path: [], message: `holds more than ${hashesMax} items` }]);
  }
  const items = parseAs(schema, body);
  if (isRefusal(items)) return items;
  const asked = readQuery(query, cancellationsQuery);
  return isRefusal(asked) ? asked : readItems(items, asked, (index) => `/${index}/signature`, ofWallets);
}

function readItems(
  items: readonly Item[],
  ofAll: Pick<Item, 'salt' | 'expiresAt'>,
  signatureAt: AskedCancellations['signatureAt'],
  ofWallets: boolean,
): AskedCancellations | Refusal {
  const cancellations: AskedCancellation[] = [];
  for (const [index, item] of items.entries()) {
    const { orderHash, signature: text, remainingMakingAmount } = item;
    const { salt = ofAll.salt, expiresAt = ofAll.expiresAt } = item;
    const signature = parseSignature(text);
    if (isSignatureRefusal(signature) && !ofWallets) {
      const detail = describeSignatureRefusal(signature);
      const errors = [{ pointer: signatureAt(index), detail }];
      return { code: 'invalid_signature', detail: `signature ${index} is not valid: ${detail}`, index, errors };
    }
    const lower = { orderHash: orderHash.toLowerCase() as Hex, text: text.toLowerCase() as Hex };
    const remaining = remainingMakingAmount === undefined ? undefined : BigInt(remainingMakingAmount);
    const expiresAtSeconds = expiresAt === undefined ? undefined : boundedSeconds(BigInt(expiresAt));
    cancellations.push({ ...lower, signature, salt, expiresAtSeconds, remaining });
  }
  return { cancellations, signatureAt };
}
