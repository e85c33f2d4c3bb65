import type { Cause } from '@makerbook/contracts-events';
import { bytesToHex } from '@makerbook/contracts-evm';
import type { Address, Hex } from '@makerbook/contracts-primitives';
import { FILL_CAPS_MAX, isCapOn, markOfExit, subjectOf } from '@makerbook/domain';
import {
  type ApiRequest,
  isRefusal,
  okJson,
  type Refusal,
  type Reply,
  type ReplyHeaders,
  rateHeaders,
  refuseFields,
  unavailable,
} from '@makerbook/http';
import { type AppendedAt, LogUnavailable, partitionOf } from '@makerbook/kafka';
import { type InstructOutcome, type MarkOutcome, unlessAway } from '@makerbook/postgres';
import { recoverSigner } from '@makerbook/signatures';
import { acknowledge } from './acknowledge-facts.js';
import { appendDecided, type Written } from './append-facts.js';
import { askAbout } from './ask-about.js';
import { type Parts, settledMsOf } from './parts.js';
import { type Exit, type Instruction, type ReadExit, TAKEN_MS_MAX } from './read-exits.js';

/** A cutoff is kept for minutes: the budget bounds how many a maker can have. */
const CANCEL_ALL_COST = 100;

/** What was decided about a request that is taken. */
interface Decided {
  readonly headers: ReplyHeaders;
  readonly written: readonly Written[];
  /** Of an instruction: whether it counts from now on. False where the log may have a newer one. */
  readonly isKnown: boolean;
}

/** Where in the log an answered message is, and when it was answered. */
interface Answered {
  readonly atMs: number;
  readonly appended: readonly AppendedAt[];
}

/**
 * POST …/cancel-all, …/heartbeat, …/cancel-keys and …/fill-cap: one fact about all orders of a maker. It needs no store: while
 * Postgres is away it is not charged, and whether an instruction counts is not known. 200 means that the log has acknowledged it. A
 * repeat of an answered one is answered without a charge.
 */
export function takeExit(read: ReadExit) {
  /** The messages that were answered, by their digests. */
  const answered = new Map<Hex, Answered>();
  /** Where instructions are that Postgres does not know of, until the rows have them. */
  const unmarked = new Map<Address, readonly AppendedAt[]>();

  const isAllKnown = async ({ rows }: Parts, maker: Address) => {
    const appended = unmarked.get(maker);
    if (appended === undefined) return true;
    const isFolded = (await unlessAway(rows.havePassed(appended, 0))) === true;
    if (isFolded) unmarked.delete(maker);
    return isFolded;
  };

  return async (parts: Parts, request: ApiRequest): Promise<Reply> => {
    const exit = read(request.body, parts.now());
    if (isRefusal(exit)) return exit;
    const { maker } = exit.fact;
    request.describe({ maker });
    const signed = await proveSigner(parts, exit, request);
    if (isRefusal(signed)) return signed;
    const digest = bytesToHex(exit.digest);
    const before = answered.get(digest);
    const badToken = before === undefined ? await refuseToken(parts, exit.fact) : undefined;
    if (badToken !== undefined) return badToken;
    const decided = await decide(parts, signed, before !== undefined);
    if (decided !== undefined && isRefusal(decided)) return decided;
    const { headers, written, isKnown } = decided ?? { headers: {}, written: [], isKnown: false };
    const { requestId } = request;
    const cause: Cause = { kind: 'request', requestId };
    const appended =
      before?.appended ??
      (await appendDecided(parts, [{ ...signed.fact, cause }], { requestId, timeMs: parts.now(), written }));
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

/** The fields of the message; of an instruction also what counts from now on, or null where that is not known. */
function describeTaken({ type: _, ...told }: Exit['fact'], isKnown: boolean): object {
  if (!('issuedAtMs' in told)) return told;
  const { maker: _maker, ...counts } = told;
  return { ...told, counts: isKnown ? counts : null };
}

/** Forgets those that are too old to be taken again. */
function remember(answered: Map<Hex, Answered>, digest: Hex, newest: Answered): void {
  answered.set(digest, newest);
  for (const [old, { atMs }] of answered) {
    if (atMs > newest.atMs - TAKEN_MS_MAX) break;
    answered.delete(old);
  }
}

/** The whitelist first: a stranger costs a look-up. @returns the request, with the key that signed it for the maker */
async function proveSigner({ makers, askWallets }: Parts, exit: Exit, request: ApiRequest): Promise<Exit | Refusal> {
  const { fact, digest, signature } = exit;
  const { maker } = fact;
  const takesKeys = fact.type === 'OrdersCancelled' || fact.type === 'SwitchSet';
  if (!makers.isCaughtUp()) return unavailable('the whitelist is still being read');
  if (makers.admissionOf(maker) === 'UNKNOWN') {
    const errors = [{ pointer: '/maker', detail: 'is not on the whitelist' }];
    return { code: 'maker_not_whitelisted', detail: `maker ${maker} is not on the whitelist`, errors };
  }
  const { signer, fault = `it recovers to ${signer}` } = recoverSigner(digest, signature);
  if (signer === maker) return exit;
  const key = signer !== undefined && makers.cancelKeysOf(maker).includes(signer) ? signer : undefined;
  if (key !== undefined && takesKeys) return fact.type === 'SwitchSet' ? { ...exit, fact: { ...fact, key } } : exit;
  const question = { index: 0, fault, wallet: maker, digests: [bytesToHex(digest)], signature };
  const doubt = askWallets === undefined ? question : await askAbout(askWallets, [question], request, takesKeys);
  if (doubt === undefined) return exit;
  if (isRefusal(doubt)) return doubt;
  const who = takesKeys ? "the maker's, nor that of a key that may cancel for it" : "the maker's";
  const remedy =
    key === undefined ? '' : ', a key that may cancel and move the switch alone: the maker has to sign this';
  const detail = `the signature is not ${who}: ${doubt.fault}${remedy}`;
  return { code: 'invalid_signature', detail, errors: [{ pointer: '/signature', detail }] };
}

/** An account without code is no token, and capping it caps nothing. While no node answers, a cap is taken: it may save funds. */
async function refuseToken({ askCode }: Parts, fact: Exit['fact']): Promise<Refusal | undefined> {
  if (fact.type !== 'FillCapSet' || !isCapOn(fact) || (await askCode?.(fact.token)) !== false) return undefined;
  return refuseFields([{ path: ['token'], message: 'is no contract: there is no code at this address' }]);
}

/** @returns undefined while Postgres is away: a maker can always cancel */
async function decide(parts: Parts, { fact }: Exit, isRepeat: boolean): Promise<Decided | Refusal | undefined> {
  if (fact.type !== 'OrdersCancelled') return instruct(parts, fact, isRepeat);
  if (isRepeat) return { headers: {}, written: [], isKnown: true };
  const { maker, making, taking, untilMs } = fact;
  const rules = rulesOf(parts, maker);
  const scope = { untilMs, making, taking, mark: markOfExit(fact) };
  const outcome = await unlessAway(parts.store.markAll({ ...rules, count: CANCEL_ALL_COST, scope }));
  if (outcome === undefined) return undefined;
  const headers = describeBudget(rules, outcome);
  if (outcome.kind !== 'marked') return refuseRate(rules, CANCEL_ALL_COST, headers);
  return { headers, written: [outcome], isKnown: true };
}

/** Whether the instruction counts. One that was taken before is judged again: a newer one may have come. */
async function instruct(parts: Parts, fact: Instruction, isRepeat: boolean): Promise<Decided | Refusal | undefined> {
  const rules = rulesOf(parts, fact.maker);
  const mark = markOfExit(fact);
  const key = fact.type === 'SwitchSet' ? fact.key : undefined;
  const instruction = { subject: subjectOf(fact), issuedAtMs: fact.issuedAtMs, terms: termsOf(fact), key };
  const asked = { ...rules, count: isRepeat ? 0 : 1, mark, instruction, capsMax: FILL_CAPS_MAX } as const;
  const outcome = await unlessAway(parts.store.instruct(asked));
  if (outcome === undefined) return undefined;
  const headers = describeBudget(rules, outcome);
  switch (outcome.kind) {
    case 'taken': {
      const written = isRepeat ? [] : [{ orderHashes: [mark], untilMs: outcome.untilMs }];
      return { headers, written, isKnown: outcome.isKnown };
    }
    case 'superseded': {
      const counts = { ...(fact.type === 'FillCapSet' && { token: fact.token }), ...outcome.counts };
      const detail =
        'nothing was changed: `counts` was issued later, or at the same time; sign anew, with a later issuedAtMs';
      return { code: 'superseded', detail, counts, headers };
    }
    case 'rate_limited':
      return refuseRate(rules, 1, headers);
    case 'unknown_key':
      return unavailable('nothing was changed: whether the key may do this is not known now; send the request again');
    case 'too_many_caps': {
      const message = `is one more than the ${FILL_CAPS_MAX} tokens that may have a cap: remove another cap first, by amount 0`;
      return { ...refuseFields([{ path: ['token'], message }]), headers };
    }
  }
}

function termsOf(fact: Instruction): object {
  switch (fact.type) {
    case 'SwitchSet':
      return { cancelAt: fact.cancelAt };
    case 'CancelKeysSet':
      return { keys: fact.keys };
    case 'FillCapSet':
      return { amount: fact.amount, windowSeconds: fact.windowSeconds };
  }
}

/** What Postgres judges a request of the maker by. */
function rulesOf({ settings, now }: Parts, maker: Address) {
  const budget = { ratePerSecond: settings.CANCEL_BUDGET_PER_SECOND, burst: settings.CANCEL_BUDGET_BURST };
  const partition = partitionOf(maker, settings.PARTITIONS);
  return { nowMs: now(), lastsMs: settledMsOf(settings), budget, maker, partition };
}

type Rules = ReturnType<typeof rulesOf>;

function describeBudget({ maker, budget }: Rules, outcome: MarkOutcome | InstructOutcome): ReplyHeaders {
  const retryAfterMs = outcome.kind === 'rate_limited' ? outcome.retryAfterMs : undefined;
  return rateHeaders('cancels', [{ maker, budget }], outcome.remaining, retryAfterMs);
}

function refuseRate({ budget }: Rules, cost: number, headers: ReplyHeaders): Refusal {
  const detail = `the maker's budget of ${budget.ratePerSecond} cancellations per second is spent; this costs ${cost}`;
  return { code: 'rate_limited', detail, headers };
}
