import type { Cause } from '@makerbook/contracts-events';
import { bytesToHex } from '@makerbook/contracts-evm';
import { type Address, type Hex, unlessAway } from '@makerbook/contracts-primitives';
import type { Refusal as DomainRefusal } from '@makerbook/domain';
import { type ApiRequest, isRefusal, okJson, type Refusal, type Reply, unavailable } from '@makerbook/http';
import { type AppendedAt, LogUnavailable } from '@makerbook/kafka';
import { acknowledge } from './acknowledge/acknowledge-facts.js';
import { appendDecided } from './append/append-facts.js';
import { decideExit, type Judged } from './decide/decide-exits.js';
import { type Exit, type ReadExit, TAKEN_MS_MAX } from './parse/read-exits.js';
import type { Parts } from './parts.js';
import { describeBudget, refuse } from './refuse-placements.js';
import { proveSigner, refuseKeys, refuseToken } from './verify/prove-exits.js';

/** Where in the log an answered message is, and when it was answered. */
interface Answered {
  readonly atMs: number;
  readonly appended: readonly AppendedAt[];
}

/**
 * Answers POST …/cancel-all, …/heartbeat, …/cancel-keys and …/fill-cap: one fact about all orders of a maker. It needs
 * no store: while Postgres is down the message is not charged, and it is unknown whether an instruction counts. 200
 * means that the log has acknowledged the fact. A repeat of an answered message is not charged.
 */
export function takeExit(read: ReadExit) {
  /** The messages that were answered, keyed by digest. */
  const answered = new Map<Hex, Answered>();
  /** Where the log has instructions that Postgres does not know about, until the rows have them. Keyed by maker. */
  const unmarked = new Map<Address, readonly AppendedAt[]>();

  const isAllKnown = async ({ projection }: Pick<Parts, 'projection'>, maker: Address) => {
    const appended = unmarked.get(maker);
    if (appended === undefined) return true;
    const isFolded = (await unlessAway(projection.havePassed(appended, 0))) === true;
    if (isFolded) unmarked.delete(maker);
    return isFolded;
  };

  return async (parts: Parts, request: ApiRequest): Promise<Reply> => {
    const exit = read(request.body, parts.now());
    if (isRefusal(exit)) return exit;
    const { maker, type } = exit.fact;
    request.describe({ maker });
    const takesKeys = type === 'OrdersCancelled' || type === 'SwitchSet';
    const proof = await proveSigner(parts, { maker, ...exit }, takesKeys, request);
    if (isRefusal(proof)) return proof;
    const signed = exit.fact.type === 'SwitchSet' ? { ...exit, fact: { ...exit.fact, ...proof } } : exit;
    const digest = bytesToHex(exit.digest);
    const before = answered.get(digest);
    const badTerms = before === undefined && (refuseKeys(parts, exit.fact) ?? (await refuseToken(parts, exit.fact)));
    if (badTerms) return badTerms;
    const decided = await decideExit(parts, request, signed, before !== undefined);
    if (decided?.refusal !== undefined) return refuseExit(decided.refusal, signed, decided.left);
    const { decisions, isKnown = true } = decided ?? { decisions: [], isKnown: false };
    const headers = describeBudget(decided?.left);
    const { requestId } = request;
    const cause: Cause = { kind: 'request', requestId };
    const appended =
      before?.appended ??
      (await appendDecided(parts, [{ ...signed.fact, cause }], { requestId, timeMs: parts.now(), decisions }));
    if (appended instanceof LogUnavailable) {
      return unavailable('the log did not confirm the request: send it again');
    }
    if (before === undefined) remember(answered, digest, { atMs: parts.now(), appended });
    if (decided === undefined) unmarked.set(maker, appended);
    const counts = isKnown && (await isAllKnown(parts, maker));
    const isAll = exit.fact.type === 'OrdersCancelled';
    const stored = await acknowledge(parts, request, appended, { messages: [digest] }, isAll);
    return okJson(JSON.stringify(describeTaken(exit.fact, counts)), { ...headers, ...stored });
  };
}

/** The fields of the message. For an instruction also what counts from now on, or null if unknown. */
function describeTaken({ type: _, ...told }: Exit['fact'], isKnown: boolean): object {
  if (!('issuedAtMs' in told)) return told;
  const { maker: _maker, ...counts } = told;
  return { ...told, counts: isKnown ? counts : null };
}

/** Remembers an answered message. Forgets those that are too old to be taken again. */
function remember(answered: Map<Hex, Answered>, digest: Hex, newest: Answered): void {
  answered.set(digest, newest);
  for (const [old, { atMs }] of answered) {
    if (atMs > newest.atMs - TAKEN_MS_MAX) break;
    answered.delete(old);
  }
}

/** Refuses a message. If a cap counts, the answer names its token. */
function refuseExit(refusal: DomainRefusal, { fact }: Exit, left: Judged['left']): Refusal {
  const { counts } = refusal;
  if (counts === undefined || fact.type !== 'FillCapSet') return refuse(refusal, left);
  return refuse({ ...refusal, counts: { token: fact.token, ...counts } }, left);
}
