import {
  cancellationInputs,
  type FieldProblem,
  orderHashInput,
  quantityInput,
  signatureInput,
} from '@makerbook/contracts-http';
import type { Hex } from '@makerbook/contracts-primitives';
import { type ApiRequest, isRefusal, type Refusal } from '@makerbook/http';
import { describeSignatureRefusal, isSignatureRefusal, parseSignature, type Signature } from '@makerbook/signatures';
import { fieldProblems } from './field-problems.js';

export interface AskedCancellation {
  /** Lowercase. */
  readonly orderHash: Hex;
  readonly signature: Signature;
}

export interface AskedCancellations {
  /** In the order of the request; a hash may be repeated. */
  readonly cancellations: readonly AskedCancellation[];
  /** The salt of the signed domain, where the request overrides the orders' own. Minimal or not, at most 32 bytes. */
  readonly salt: Hex | undefined;
  /** The JSON pointer to a signature of the request. */
  readonly signatureAt: (index: number) => string;
}

type Asking = Pick<ApiRequest, 'body' | 'query'>;

/**
 * Parses the query of a DELETE (Interface 4.4): two lists of one length, the n-th signature belongs to the n-th hash.
 * A text that is not a signature is refused here with `invalid_signature`.
 */
export function parseCancellationQuery({ query }: Asking, hashesMax: number): AskedCancellations | Refusal {
  const hashes = takeList(query, 'orderHashes', orderHashInput, hashesMax);
  if (isRefusal(hashes)) return hashes;
  const signatures = takeList(query, 'signatures', signatureInput, hashesMax);
  if (isRefusal(signatures)) return signatures;
  if (hashes.length !== signatures.length) {
    const detail = `there are ${hashes.length} order hashes and ${signatures.length} signatures`;
    return refuse([{ pointer: '/signatures', detail }]);
  }
  const items = hashes.map((orderHash, index) => ({ orderHash, signature: signatures[index] ?? '' }));
  return readItems(items, query, (index) => `/signatures/${index}`);
}

/** The same from the body of a POST: an array of `orderHash` and `signature`. The salt is in the query, as that of a DELETE. */
export function parseCancellationBody({ body, query }: Asking, hashesMax: number): AskedCancellations | Refusal {
  if (Array.isArray(body) && body.length > hashesMax) {
    return refuse([{ pointer: '', detail: `holds more than ${hashesMax} items` }]);
  }
  const parsed = cancellationInputs.safeParse(body);
  if (!parsed.success) {
    const [first] = parsed.error.issues;
    const index = first?.path[0];
    return { ...refuse(fieldProblems(parsed.error)), ...(typeof index === 'number' ? { index } : {}) };
  }
  return readItems(parsed.data, query, (index) => `/${index}/signature`);
}

function readItems(
  items: readonly { readonly orderHash: string; readonly signature: string }[],
  query: URLSearchParams,
  signatureAt: AskedCancellations['signatureAt'],
): AskedCancellations | Refusal {
  const salts = query.getAll('salt');
  const [salt] = salts;
  if (salts.length > 1 || (salt !== undefined && !quantityInput.safeParse(salt).success)) {
    return refuse([{ pointer: '/salt', detail: 'must be a hex quantity of at most 32 bytes, given once' }]);
  }
  const cancellations: AskedCancellation[] = [];
  for (const [index, { orderHash, signature: text }] of items.entries()) {
    const signature = parseSignature(text);
    if (isSignatureRefusal(signature)) {
      const detail = describeSignatureRefusal(signature);
      const errors = [{ pointer: signatureAt(index), detail }];
      return { code: 'invalid_signature', detail: `signature ${index} is not valid: ${detail}`, index, errors };
    }
    cancellations.push({ orderHash: orderHash.toLowerCase() as Hex, signature });
  }
  return { cancellations, salt: salt as Hex | undefined, signatureAt };
}

function takeList(
  query: URLSearchParams,
  name: string,
  schema: typeof orderHashInput,
  lengthMax: number,
): readonly Hex[] | Refusal {
  const [text, ...more] = query.getAll(name);
  if (text === undefined || text === '' || more.length > 0) {
    return refuse([{ pointer: `/${name}`, detail: 'must be given once, as a comma-separated list' }]);
  }
  const items = text.split(',', lengthMax + 1);
  if (items.length > lengthMax) return refuse([{ pointer: `/${name}`, detail: `holds more than ${lengthMax} items` }]);
  for (const [index, item] of items.entries()) {
    const parsed = schema.safeParse(item);
    if (!parsed.success) {
      const detail = parsed.error.issues[0]?.message ?? 'is not well-formed';
      return { ...refuse([{ pointer: `/${name}/${index}`, detail }]), index };
    }
  }
  return items as Hex[];
}

function refuse(errors: FieldProblem[]): Refusal {
  return { code: 'invalid_request', detail: 'the request is not well-formed', errors };
}
