import type { AskWallets } from '@makerbook/chain';
import { bytesToHex } from '@makerbook/contracts-evm';
import type { Address, Hex, UnixMs } from '@makerbook/contracts-primitives';
import type { Budget } from '@makerbook/domain';
import {
  type ApiRequest,
  isRefusal,
  type Refusal,
  type Reply,
  type ReplyHeaders,
  rateHeaders,
  unavailable,
} from '@makerbook/http';
import { recoverSigner } from '@makerbook/signatures';
import type { ReadRight } from '@makerbook/whitelist';
import type { ReplayGuard, Taken } from './redis/guard-replays.js';
import type { ListState } from './store/read-lists.js';

const SECONDS_PER_YEAR = 31_536_000n;

export interface SignedParts {
  readonly rules: AdmissionRules;
  /** True once the whitelist was read. Until then no maker can be refused. */
  readonly isWhitelistKnown: () => boolean;
  readonly replays: ReplayGuard;
  /** The budget of signed requests of one maker. */
  readonly budget: Budget;
  /** Resolves to undefined while Postgres is down. */
  readonly readState: (maker: Hex) => Promise<ListState | undefined>;
  readonly unixMs: () => UnixMs;
  /** Counts a request that this process alone has checked for a replay. */
  readonly checkedLocally: () => void;
}

/** The maker who asks, and the state of its list when the request was admitted. */
export interface Asker extends Admitted {
  readonly state: ListState | undefined;
  readonly nowSeconds: number;
  /** Signed requests left in the maker's budget. Undefined while Redis is down. */
  readonly listsLeft?: number | undefined;
}

/**
 * Answers a signed request of a maker. Checks in order: time window, signature, whitelist, replay, the maker's budget.
 * After `rate_limited` or `unavailable` the same request may be sent again unchanged.
 */
export async function answerSigned(
  { describe, client, charge }: Pick<ApiRequest, 'describe' | 'client' | 'charge'>,
  request: SignedRequest,
  parts: SignedParts,
  answer: (asker: Asker) => Promise<Reply>,
): Promise<Reply> {
  if (!parts.isWhitelistKnown()) return unavailable('the whitelist is still being read');
  const nowSeconds = Math.floor(parts.unixMs() / 1000);
  const admitted = await admitRequest(request, parts.rules, nowSeconds, { client, charge });
  if (isRefusal(admitted)) return admitted;
  const { maker, key: signer = maker } = admitted;
  describe({ maker });
  const [taken, state] = await Promise.all([
    parts.replays.takeSalt({ signer, maker }, request.salt, parts.unixMs()),
    parts.readState(maker),
  ]);
  if (taken.kind === 'used') {
    return { code: 'request_replayed', detail: 'this salt was used already; sign a new request with a fresh one' };
  }
  if (taken.kind === 'takenLocally') parts.checkedLocally();
  const limits = describeBudget(parts.budget, maker, taken);
  if (taken.kind === 'rate_limited') {
    const detail = `the maker's budget of ${parts.budget.ratePerSecond} lists per second is spent`;
    return { code: 'rate_limited', detail, headers: limits };
  }
  const listsLeft = taken.kind === 'taken' ? taken.remaining : undefined;
  const reply = await answer({ ...admitted, state, nowSeconds, listsLeft });
  if (isRefusal(reply) && ['unavailable', 'rate_limited'].includes(reply.code))
    await parts.replays.releaseSalt(signer, request.salt);
  return { ...reply, headers: { ...limits, ...reply.headers } };
}

export const listUnknown = unavailable(
  'the store of orders does not answer, and the list is not known without it; try again',
);

export const rowsAreAway = unavailable('the store of orders does not answer; try again');
export const logIsAway = unavailable('the log does not answer; try again');

/** Tells how many of the maker's own writes an answer may not show yet. An undefined lag is unknown. */
export function lagHeader(lag: number | undefined): ReplyHeaders {
  return lag === 0 ? {} : { 'X-Read-Lag': lag === undefined ? 'unknown' : String(lag) };
}

/** Returns no headers while Redis is down, because the budget is unknown. */
function describeBudget(budget: Budget, maker: Hex, taken: Exclude<Taken, { kind: 'used' }>): ReplyHeaders {
  if (taken.kind === 'takenLocally') return {};
  const retryAfterMs = taken.kind === 'rate_limited' ? taken.retryAfterMs : undefined;
  return rateHeaders('lists', [{ maker, budget }], [taken.remaining], retryAfterMs);
}

/** A request that is signed by its maker, or by a key of that maker. */
export interface SignedRequest {
  /** Unix seconds; any uint256. */
  readonly issuedAt: bigint;
  /** The domain's salt, left-padded to 32 bytes: 0x and 64 lowercase hex digits. */
  readonly salt: Hex;
  /** Hex bytes. A later check tells whether they are a signature. */
  readonly signature: Hex;
  /** The maker, if the request names it. A contract must be named: no signature recovers to its address. */
  readonly maker: Hex | undefined;
  /** What the request reads. A key of the maker needs the right to read it. */
  readonly reads: ReadRight;
  /** The EIP-712 digest that was signed: 32 bytes. */
  readonly digest: () => Uint8Array;
}

interface AdmissionRules {
  readonly requestTtlSeconds: number;
  readonly clockSkewSeconds: number;
  /** True if the maker is, or once was, on the whitelist. */
  readonly isKnown: (maker: Hex) => boolean;
  /** True if the key may read this for the maker. */
  readonly mayRead: (maker: Address, key: Address, what: ReadRight) => boolean;
  /** Undefined if contracts cannot sign. */
  readonly askWallets?: AskWallets | undefined;
}

const doingOf = { list: 'list', stream: 'stream', history: 'read the history' } as const;

/** The maker for whom a request is admitted. */
interface Admitted {
  readonly maker: Address;
  /** The key that has signed for the maker. */
  readonly key?: Address;
}

/**
 * Checks a request at `nowSeconds`: time window, signature, whitelist, in this order. The maker is the signer unless
 * the request names another maker. The signer may then be a key that reads for that maker. If it is not, the maker's
 * contract is asked, provided the maker is on the whitelist. The check for a replay comes afterwards, because it stores
 * the salt.
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
      -ageSeconds > SECONDS_PER_YEAR ? 'it is Unix seconds, not milliseconds' : 'subtract 1 or 2 s from issuedAt';
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
