import type { AskWallets } from '@makerbook/chain';
import { bytesToHex } from '@makerbook/contracts-evm';
import type { Address, Hex } from '@makerbook/contracts-primitives';
import { type ApiRequest, type Refusal, unavailable } from '@makerbook/http';
import { recoverSigner } from '@makerbook/signatures';
import type { ReadRight } from '@makerbook/whitelist';

/** A request that its maker has signed. */
export interface SignedRequest {
  /** Unix seconds; any uint256. */
  readonly issuedAt: bigint;
  /** The domain's salt, padded to 32 bytes on the left; 64 hex digits after 0x, lowercase. */
  readonly salt: Hex;
  /** Hex bytes; whether they are a signature is checked later. */
  readonly signature: Hex;
  /** The maker, where the request names it: a contract has no key by which it could be known. */
  readonly maker: Hex | undefined;
  /** What it reads: a key of the maker needs the right to it. */
  readonly reads: ReadRight;
  /** The EIP-712 digest that was signed: 32 bytes. */
  readonly digest: () => Uint8Array;
}

/** The rules for signed requests. */
export interface AdmissionRules {
  readonly requestTtlSeconds: number;
  readonly clockSkewSeconds: number;
  /** True if the maker is, or once was, on the whitelist. */
  readonly isKnown: (maker: Hex) => boolean;
  /** Whether a key may read this for the maker. */
  readonly mayRead: (maker: Address, key: Address, what: ReadRight) => boolean;
  /** Undefined where keys alone sign. */
  readonly askWallets?: AskWallets | undefined;
}

const doingOf = { list: 'list', stream: 'stream', history: 'read the history' } as const;

/** Who asks. */
export interface Admitted {
  readonly maker: Address;
  /** The key that has signed for the maker. */
  readonly key?: Address;
}

const SECONDS_PER_YEAR = 31_536_000n;

/**
 * Checks a request at `nowSeconds`: time window, signature, whitelist, in this order. The maker is the signer, unless the request
 * names another one: then it may be a key that reads for that one, else that one's contract is asked, if it is on the whitelist. The check for a replay comes afterwards, because
 * it stores the salt.
 */
export async function admitRequest(
  request: SignedRequest,
  rules: AdmissionRules,
  nowSeconds: number,
  asker: Pick<ApiRequest, 'client' | 'charge'>,
): Promise<Admitted | Refusal> {
  const ageSeconds = BigInt(nowSeconds) - request.issuedAt;
  if (ageSeconds > BigInt(rules.requestTtlSeconds)) {
    const detail = `issuedAt is more than ${rules.requestTtlSeconds} s ago by the clock here (${nowSeconds})`;
    return { code: 'request_expired', detail: `${detail}; sign a new request` };
  }
  if (-ageSeconds > BigInt(rules.clockSkewSeconds)) {
    const detail = `issuedAt is more than ${rules.clockSkewSeconds} s ahead of the clock here (${nowSeconds})`;
    const remedy =
      -ageSeconds > SECONDS_PER_YEAR ? 'it is Unix seconds, not milliseconds' : 'take 1 or 2 s off your clock';
    return { code: 'request_expired', detail: `${detail}; ${remedy}` };
  }
  const digest = request.digest();
  const {
    signer,
    fault = `it recovers to ${signer}, not to the maker or a key that may ${doingOf[request.reads]} for it`,
  } = recoverSigner(digest, request.signature);
  const maker = request.maker ?? signer;
  if (maker === undefined) return { code: 'invalid_signature', detail: `the signature is not valid: ${fault}` };
  if (!rules.isKnown(maker)) {
    const who = request.maker === undefined ? `the request was signed by ${maker}, which` : `maker ${maker}`;
    return { code: 'maker_not_whitelisted', detail: `${who} is not on the whitelist` };
  }
  if (maker === signer) return { maker };
  if (signer !== undefined && rules.mayRead(maker, signer, request.reads)) return { maker, key: signer };
  const question = { wallet: maker, digests: [bytesToHex(digest)], signature: request.signature };
  const ask = rules.askWallets ?? (async () => undefined);
  const answer = await ask([question], { ...asker, isExit: false });
  if (answer === 'accepted') return { maker };
  if (answer === 'unknown') return unavailable("whether the maker's contract accepts the signature is not known now");
  const faults = answer === undefined ? fault : `${fault}; ${answer.fault}`;
  return { code: 'invalid_signature', detail: `the signature is not valid: ${faults}` };
}
