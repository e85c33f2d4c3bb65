import type { CancelKeysSet, Cause, FillCapSet, OrdersCancelled, SwitchSet } from '@makerbook/contracts-events';
import {
  bytesToHex,
  cancelAllRequestTypes,
  cancelKeysRequestTypes,
  createStructHasher,
  fillCapRequestTypes,
  heartbeatRequestTypes,
  type SigningDomain,
} from '@makerbook/contracts-evm';
import { cancelAllInput, cancelKeysInput, fillCapInput, heartbeatInput, paths } from '@makerbook/contracts-http';
import { type Address, type Hex, quantity, ZERO_ADDRESS } from '@makerbook/contracts-primitives';
import { markOfCutoff } from '@makerbook/domain';
import {
  type ApiRequest,
  isRefusal,
  okJson,
  parseAs,
  type Refusal,
  type Reply,
  rateHeaders,
  refuseFields,
  unavailable,
} from '@makerbook/http';
import { type AppendedAt, LogUnavailable, partitionOf } from '@makerbook/kafka';
import { type MarkAllRequest, unlessAway } from '@makerbook/postgres';
import { recoverSigner } from '@makerbook/signatures';
import type { z } from 'zod';
import { acknowledge } from './acknowledge-facts.js';
import { appendDecided, type Written } from './append-facts.js';
import { askAbout } from './ask-about.js';
import { type Parts, settledMsOf } from './parts.js';

type ExitFact = OrdersCancelled | SwitchSet | CancelKeysSet | FillCapSet;
type WithoutCause<F> = F extends unknown ? Omit<F, 'cause'> : never;

/** A request about all orders of a maker, parsed. */
interface Exit extends Pick<MarkAllRequest, 'count' | 'scope'> {
  readonly fact: WithoutCause<ExitFact>;
  readonly digest: Uint8Array;
  readonly signature: Hex;
  /** Whether a key that may cancel for the maker may sign it. */
  readonly takesKeys: boolean;
}

/** Reads a body at a time of the service's clock. */
export type ReadExit = (body: unknown, nowMs: number) => Exit | Refusal;

/** A cutoff is kept for minutes: the budget bounds how many a maker can have. */
const CANCEL_ALL_COST = 100;
/** How far ahead a cancellation of all orders may reach: so it takes orders whose POST has no answer yet. */
const UNTIL_AHEAD_MS_MAX = 60_000;

/** A message that is older is not taken: whoever has seen it could spend the maker's budget with it for ever. */
const AGE_MS_MAX = 300_000;

const lower = (address: Address) => address.toLowerCase() as Address;
/** The zero address is signed for a token that is left out, and may be sent for it. */
const tokenOf = (address: Address | undefined) =>
  address === undefined || BigInt(address) === 0n ? undefined : lower(address);

/** What is read of a message that sets something. */
type Setting = WithoutCause<Exclude<ExitFact, OrdersCancelled>>;

/**
 * The readers of these requests, by their paths, for one domain.
 * @param skewMsMax how far the clock of a signer may be ahead
 */
export function createExitReaders(domain: SigningDomain, skewMsMax: number): ReadonlyMap<string, ReadExit> {
  const hashAll = createStructHasher(domain, cancelAllRequestTypes);
  const cancelAll: ReadExit = (body, nowMs) => {
    const asked = parseAs(cancelAllInput, body);
    if (isRefusal(asked)) return asked;
    const { untilMs, signature } = asked;
    const untimely = refuseTime('untilMs', untilMs, nowMs, UNTIL_AHEAD_MS_MAX);
    if (untimely !== undefined) return untimely;
    const maker = lower(asked.maker);
    const [making, taking] = [tokenOf(asked.making), tokenOf(asked.taking)];
    const tokens = { ...(making && { making }), ...(taking && { taking }) };
    return {
      fact: { type: 'OrdersCancelled', maker, ...tokens, untilMs },
      digest: hashAll({ maker, making: making ?? ZERO_ADDRESS, taking: taking ?? ZERO_ADDRESS, untilMs }),
      signature,
      takesKeys: true,
      count: CANCEL_ALL_COST,
      scope: { untilMs, making, taking, mark: markOfCutoff({ maker, ...tokens, untilMs }) },
    };
  };

  /** The fields of the fact are what is signed. */
  function setting<Asked extends { readonly issuedAtMs: number; readonly signature: Hex }>(
    schema: z.ZodType<Asked>,
    types: Parameters<typeof createStructHasher>[1],
    takesKeys: boolean,
    settingOf: (asked: Asked, nowMs: number) => Setting | Refusal,
  ): ReadExit {
    const hash = createStructHasher(domain, types);
    return (body, nowMs) => {
      const asked = parseAs(schema, body);
      if (isRefusal(asked)) return asked;
      const untimely = refuseTime('issuedAtMs', asked.issuedAtMs, nowMs, skewMsMax);
      if (untimely !== undefined) return untimely;
      const fact = settingOf(asked, nowMs);
      if (isRefusal(fact)) return fact;
      return { fact, digest: hash(fact), signature: asked.signature, takesKeys, count: 1 };
    };
  }

  const heartbeat = setting(heartbeatInput, heartbeatRequestTypes, true, ({ maker, cancelAt, issuedAtMs }, nowMs) => {
    if (cancelAt > 0 && cancelAt * 1000 <= nowMs) {
      const message = `must be after now (${Math.floor(nowMs / 1000)}), in seconds since 1970, or 0`;
      return refuseFields([{ path: ['cancelAt'], message }]);
    }
    return { type: 'SwitchSet', maker: lower(maker), cancelAt, issuedAtMs };
  });
  const cancelKeys = setting(cancelKeysInput, cancelKeysRequestTypes, false, ({ maker, keys, issuedAtMs }) => {
    return { type: 'CancelKeysSet', maker: lower(maker), keys: keys.map(lower), issuedAtMs };
  });
  const fillCap = setting(fillCapInput, fillCapRequestTypes, false, ({ maker, token, amount, ...rest }) => {
    const { windowSeconds, issuedAtMs } = rest;
    const terms = { token: lower(token), amount: quantity(BigInt(amount)), windowSeconds };
    return { type: 'FillCapSet', maker: lower(maker), ...terms, issuedAtMs };
  });
  return new Map([
    [paths.cancelAll, cancelAll],
    [paths.heartbeat, heartbeat],
    [paths.cancelKeys, cancelKeys],
    [paths.fillCap, fillCap],
  ]);
}

/**
 * POST …/cancel-all, …/heartbeat, …/cancel-keys and …/fill-cap: one fact about all orders of a maker. It needs no store: while Postgres is away
 * it is not charged. 200 means that the log has acknowledged it. A repeat of an answered one is answered without a charge.
 */
export function takeExit(read: ReadExit) {
  /** The messages that were answered, by their digests. */
  const answered = new Map<Hex, Answered>();
  return async (parts: Parts, request: ApiRequest): Promise<Reply> => {
    const exit = read(request.body, parts.now());
    if (isRefusal(exit)) return exit;
    const { maker } = exit.fact;
    request.describe({ maker });
    const refusal = await refuseSigner(parts, exit);
    if (refusal !== undefined) return refusal;
    const { type: _, ...told } = exit.fact;
    const digest = bytesToHex(exit.digest);
    const answer = async (appended: readonly AppendedAt[], headers = {}) => {
      const stored = await acknowledge(parts, request, appended, { messages: [digest] }, exit.scope !== undefined);
      return okJson(JSON.stringify(told), { ...headers, ...stored });
    };
    const before = answered.get(digest);
    if (before !== undefined) return answer(before.appended);
    const charged = await charge(parts, exit);
    if (isRefusal(charged)) return charged;
    const { headers, written } = charged;
    const { requestId } = request;
    const cause: Cause = { kind: 'request', requestId };
    const fact: ExitFact = { ...exit.fact, cause };
    const appended = await appendDecided(parts, [fact], { requestId, timeMs: parts.now(), written });
    if (appended instanceof LogUnavailable) {
      return unavailable('the log did not confirm the request: send it again');
    }
    remember(answered, digest, { atMs: parts.now(), appended });
    return answer(appended, headers);
  };
}

/** When a message was answered, and where in the log it is. */
interface Answered {
  readonly atMs: number;
  readonly appended: readonly AppendedAt[];
}

/** Forgets those that are too old to be taken again. */
function remember(answered: Map<Hex, Answered>, digest: Hex, newest: Answered): void {
  answered.set(digest, newest);
  for (const [old, { atMs }] of answered) {
    if (atMs > newest.atMs - AGE_MS_MAX - UNTIL_AHEAD_MS_MAX) break;
    answered.delete(old);
  }
}

/** The whitelist first: a stranger costs a look-up. */
async function refuseSigner(
  { makers, askWallets }: Parts,
  { fact, digest, signature, takesKeys }: Exit,
): Promise<Refusal | undefined> {
  const { maker } = fact;
  if (!makers.isCaughtUp()) return unavailable('the whitelist is still being read');
  if (makers.admissionOf(maker) === 'UNKNOWN') {
    const errors = [{ pointer: '/maker', detail: 'is not on the whitelist' }];
    return { code: 'maker_not_whitelisted', detail: `maker ${maker} is not on the whitelist`, errors };
  }
  const { signer, fault = `it recovers to ${signer}` } = recoverSigner(digest, signature);
  const isKey = signer !== undefined && makers.cancelKeysOf(maker).includes(signer);
  if (signer === maker || (isKey && takesKeys)) return undefined;
  const question = { index: 0, fault, wallet: maker, digests: [bytesToHex(digest)], signature };
  const doubt = askWallets === undefined ? question : await askAbout(askWallets, [question]);
  if (doubt === undefined || isRefusal(doubt)) return doubt;
  const who = takesKeys ? "the maker's, nor that of a key that may cancel for it" : "the maker's";
  const remedy = isKey ? ', a key that may cancel and move the switch alone: the maker has to sign this' : '';
  const detail = `the signature is not ${who}: ${doubt.fault}${remedy}`;
  return { code: 'invalid_signature', detail, errors: [{ pointer: '/signature', detail }] };
}

/** Charges nothing while Postgres is away: a maker can always cancel. */
async function charge(
  { settings, store, now }: Parts,
  { fact: { maker }, count, scope }: Exit,
): Promise<{ readonly headers: Record<string, string>; readonly written: readonly Written[] } | Refusal> {
  const budget = { ratePerSecond: settings.CANCEL_BUDGET_PER_SECOND, burst: settings.CANCEL_BUDGET_BURST };
  const partition = partitionOf(maker, settings.PARTITIONS);
  const lastsMs = settledMsOf(settings);
  const marking = store.markAll({ nowMs: now(), lastsMs, budget, maker, partition, count, ...(scope && { scope }) });
  const outcome = await unlessAway(marking);
  if (outcome === undefined) return { headers: {}, written: [] };
  const retryAfterMs = outcome.kind === 'rate_limited' ? outcome.retryAfterMs : undefined;
  const headers = rateHeaders('cancels', [{ maker, budget }], outcome.remaining, retryAfterMs);
  if (outcome.kind === 'marked') return { headers, written: [outcome] };
  const detail = `the maker's budget of ${budget.ratePerSecond} cancellations per second is spent; this costs ${count}`;
  return { code: 'rate_limited', detail, headers };
}

/** Every time of a message by the clock here; `cancelAt` alone lies beyond these bounds. */
function refuseTime(field: string, timeMs: number, nowMs: number, aheadMsMax: number): Refusal | undefined {
  if (timeMs <= nowMs + aheadMsMax && timeMs >= nowMs - AGE_MS_MAX) return undefined;
  const message =
    `must be in milliseconds since 1970, at most ${aheadMsMax / 1000} s ahead of the clock here (${nowMs}) and ` +
    `${AGE_MS_MAX / 1000} s behind it`;
  return refuseFields([{ path: [field], message }]);
}
