import type { Cause } from '@makerbook/contracts-events';
import { bytesToHex } from '@makerbook/contracts-evm';
import type { Address, Hex } from '@makerbook/contracts-primitives';
import { type Refusal as DomainRefusal, isCapOn, markOfExit, subjectOf } from '@makerbook/domain';
import {
  type ApiRequest,
  isRefusal,
  okJson,
  type Refusal,
  type Reply,
  refuseFields,
  unavailable,
} from '@makerbook/http';
import { type AppendedAt, LogUnavailable, partitionOf } from '@makerbook/kafka';
import { unlessAway } from '@makerbook/postgres';
import { recoverSigner } from '@makerbook/signatures';
import { acknowledge } from './acknowledge/acknowledge-facts.js';
import { appendDecided } from './append/append-facts.js';
import type { Decided } from './decide/decide-together.js';
import { type Exit, type Instruction, type ReadExit, TAKEN_MS_MAX } from './parse/read-exits.js';
import { cancelBudgetOf, type Parts, settledMsOf } from './parts.js';
import { describeBudget, refuse } from './refuse-placements.js';
import { askAbout } from './verify/ask-about.js';

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

type Judged = Pick<Decided, 'decisions' | 'refusal' | 'left' | 'isKnown'>;

/**
 * Whether it is taken; an instruction that was taken before is judged again, for a newer one may have come.
 * @returns undefined while Postgres is away: a maker can always cancel
 */
async function decideExit(
  { settings, decide }: Parts,
  { requestId, receivedAtMs }: ApiRequest,
  { fact }: Exit,
  isRepeat: boolean,
): Promise<Judged | undefined> {
  const { maker } = fact;
  const partition = partitionOf(maker, settings.PARTITIONS);
  const mark = markOfExit(fact);
  const rules = { lastsMs: settledMsOf(settings), budget: cancelBudgetOf(settings), maker, partition, mark };
  if (fact.type === 'OrdersCancelled') {
    if (isRepeat) return { decisions: [] };
    const request = { kind: 'cancel-all', ...rules, scope: fact } as const;
    return unlessAway(decide({ requestId, receivedAtMs, request }));
  }
  const key = fact.type === 'SwitchSet' ? fact.key : undefined;
  const instruction = { subject: subjectOf(fact), issuedAtMs: fact.issuedAtMs, terms: termsOf(fact), key };
  const request = { kind: 'instruction', ...rules, instruction, isRepeat } as const;
  return unlessAway(decide({ requestId, receivedAtMs, request }));
}

/** A cap is told with its token. */
function refuseExit(refusal: DomainRefusal, { fact }: Exit, left: Judged['left']): Refusal {
  const { counts } = refusal;
  if (counts === undefined || fact.type !== 'FillCapSet') return refuse(refusal, left);
  return refuse({ ...refusal, counts: { token: fact.token, ...counts } }, left);
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
