import { hexToBytes, type RequestHashers } from '@makerbook/contracts-evm';
import type { Refusal } from '@makerbook/http';
import { isSignatureRefusal, parseSignature, recoverAddress } from '@makerbook/signatures';
import type { ListRequest } from './parse-list-request.js';

/** What a request is judged by. */
export interface AdmissionRules {
  readonly hashers: RequestHashers;
  readonly requestTtlSeconds: number;
  readonly clockSkewSeconds: number;
  readonly isAdmitted: (maker: `0x${string}`) => boolean;
}

/** The maker who signed, or why the request is refused. */
export type Admission = { readonly maker: `0x${string}` } | Refusal;

/**
 * Judges a list request at `nowSeconds`: time window, signature, whitelist, in this order (Interface 4.2, 5.1). The maker
 * is whoever signed: the request names nobody. Whether it is a replay is asked afterwards, as that leaves a trace.
 */
export function admitRequest(request: ListRequest, rules: AdmissionRules, nowSeconds: number): Admission {
  const ageSeconds = BigInt(nowSeconds) - request.issuedAt;
  if (ageSeconds > BigInt(rules.requestTtlSeconds)) {
    const detail = `issuedAt is more than ${rules.requestTtlSeconds} s ago by the clock here (${nowSeconds})`;
    return { code: 'request_expired', detail: `${detail}; sign a new request` };
  }
  if (-ageSeconds > BigInt(rules.clockSkewSeconds)) {
    const detail = `issuedAt is more than ${rules.clockSkewSeconds} s ahead of the clock here (${nowSeconds})`;
    return { code: 'request_expired', detail: `${detail}; take 1 or 2 s off your clock` };
  }
  const signature = parseSignature(request.signature);
  if (isSignatureRefusal(signature)) return invalidSignature(signatureFaults[signature.code]);
  const digest = rules.hashers.hashGetRequest({ issuedAt: request.issuedAt, salt: hexToBytes(request.salt) });
  const maker = recoverAddress(digest, signature);
  if (maker === undefined) return invalidSignature('no key can have made it');
  if (!rules.isAdmitted(maker)) {
    const detail = `the request was signed by ${maker}, which is not on the whitelist`;
    return { code: 'maker_not_whitelisted', detail };
  }
  return { maker };
}

const signatureFaults = {
  not_hex: 'it is not hex',
  wrong_length: 'it has neither 65 nor 64 bytes',
  wrong_v: 'its last byte is none of 0, 1, 27, 28',
  out_of_range: 'r or s is out of range',
  high_s: 's is in the upper half of its range',
} as const;

function invalidSignature(fault: string): Refusal {
  return { code: 'invalid_signature', detail: `the signature is not valid: ${fault}` };
}
