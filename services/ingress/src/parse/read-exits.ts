import {
  cancelAllRequestTypes,
  cancelKeysRequestTypes,
  createStructHasher,
  fillCapRequestTypes,
  heartbeatRequestTypes,
  keysRequestTypes,
  type SigningDomain,
} from '@makerbook/contracts-evm';
import { cancelAllInput, cancelKeysInput, fillCapInput, heartbeatInput, paths } from '@makerbook/contracts-http';
import { type Address, type Hex, quantity, ZERO_ADDRESS } from '@makerbook/contracts-primitives';
import { type ExitFact, isCapOn, isNativeCoin } from '@makerbook/domain';
import { isRefusal, parseAs, type Refusal, refuseFields } from '@makerbook/http';
import type { z } from 'zod';

type WithoutCause<F> = F extends unknown ? Omit<F, 'cause'> : never;
type OfType<T extends ExitFact['type']> = WithoutCause<Extract<ExitFact, { type: T }>>;
type CancelAll = OfType<'OrdersCancelled'>;
/** A standing instruction. Of a maker's instructions about one subject, the newest counts. */
export type Instruction = OfType<'SwitchSet' | 'CancelKeysSet' | 'FillCapSet'>;

/** A message that is signed by the maker, or by a key for the maker. */
export interface SignedMessage {
  readonly maker: Address;
  readonly digest: Uint8Array;
  readonly signature: Hex;
}

/** A request about all orders of a maker, parsed. */
export interface Exit<Fact extends CancelAll | Instruction = CancelAll | Instruction>
  extends Omit<SignedMessage, 'maker'> {
  readonly fact: Fact;
}

/** Reads a body. `nowMs` is the time by the service's clock. */
export type ReadExit = (body: unknown, nowMs: number) => Exit | Refusal;

/** How far ahead a cancellation of all orders may reach, so that it takes orders whose POST has no answer yet. */
const UNTIL_AHEAD_MS_MAX = 60_000;
/** An older message is not taken: anyone who has seen it could spend the maker's budget with it for ever. */
const AGE_MS_MAX = 300_000;
/** A message is not taken for longer than this. */
export const TAKEN_MS_MAX = AGE_MS_MAX + UNTIL_AHEAD_MS_MAX;

const lower = (address: Address) => address.toLowerCase() as Address;
/** A token that is left out is signed as the zero address, and may be sent as it. */
const tokenOf = (address: Address | undefined) =>
  address === undefined || BigInt(address) === 0n ? undefined : lower(address);

/**
 * Creates the readers of these requests for one domain, keyed by path.
 * @param skewMsMax how far the clock of a signer may be ahead
 */
export function createExitReaders(domain: SigningDomain, skewMsMax: number): ReadonlyMap<string, ReadExit> {
  const hashAll = createStructHasher(domain, cancelAllRequestTypes);
  const cancelAll: ReadExit = (body, nowMs) => {
    const asked = parseAs(cancelAllInput, body);
    if (isRefusal(asked)) return asked;
    const { untilMs, signature } = asked;
    const untimely = refuseUntil(untilMs, nowMs);
    if (untimely !== undefined) return untimely;
    const maker = lower(asked.maker);
    const [making, taking] = [tokenOf(asked.making), tokenOf(asked.taking)];
    const tokens = { ...(making && { making }), ...(taking && { taking }) };
    return {
      fact: { type: 'OrdersCancelled', maker, ...tokens, untilMs },
      digest: hashAll({ maker, making: making ?? ZERO_ADDRESS, taking: taking ?? ZERO_ADDRESS, untilMs }),
      signature,
    };
  };

  /** Reads an instruction. The fields of the fact are what is signed. */
  function setting<Asked extends { readonly issuedAtMs: number; readonly signature: Hex }>(
    schema: z.ZodType<Asked>,
    types: Parameters<typeof createStructHasher>[1],
    settingOf: (asked: Asked, nowMs: number) => Instruction | Refusal,
  ): ReadExit {
    const hash = createStructHasher(domain, types);
    return (body, nowMs) => {
      const asked = parseAs(schema, body);
      if (isRefusal(asked)) return asked;
      const untimely = refuseTime('issuedAtMs', asked.issuedAtMs, nowMs, skewMsMax);
      if (untimely !== undefined) return untimely;
      const fact = settingOf(asked, nowMs);
      if (isRefusal(fact)) return fact;
      return { fact, digest: hash(fact), signature: asked.signature };
    };
  }

  const heartbeat = setting(heartbeatInput, heartbeatRequestTypes, ({ maker, cancelAt, issuedAtMs }, nowMs) => {
    if (cancelAt > 0 && cancelAt * 1000 <= nowMs) {
      const message = `must be after now (${Math.floor(nowMs / 1000)}), in seconds since 1970, or 0`;
      return refuseFields([{ path: ['cancelAt'], message }]);
    }
    return { type: 'SwitchSet', maker: lower(maker), cancelAt, issuedAtMs };
  });
  const cancelKeysAlone = setting(cancelKeysInput, cancelKeysRequestTypes, ({ maker, keys, issuedAtMs }) => {
    return { type: 'CancelKeysSet', maker: lower(maker), keys: keys.map(lower), issuedAtMs };
  });
  const allKeys = setting(cancelKeysInput, keysRequestTypes, ({ maker, keys, issuedAtMs, ...asked }) => {
    const { listKeys = [], streamKeys = [], historyKeys = [] } = asked;
    const read = {
      listKeys: listKeys.map(lower),
      streamKeys: streamKeys.map(lower),
      historyKeys: historyKeys.map(lower),
    };
    return { type: 'CancelKeysSet', maker: lower(maker), keys: keys.map(lower), ...read, issuedAtMs };
  });
  /** A message that names no keys that read is signed as it was before such keys existed. */
  const cancelKeys: ReadExit = (body, nowMs) => {
    const namesReaders = Object.keys(Object(body)).some((name) => /^(list|stream|history)Keys$/.test(name));
    return (namesReaders ? allKeys : cancelKeysAlone)(body, nowMs);
  };
  const fillCap = setting(fillCapInput, fillCapRequestTypes, ({ maker, token, amount, ...rest }) => {
    const { windowSeconds, issuedAtMs } = rest;
    const terms = { token: lower(token), amount: quantity(BigInt(amount)), windowSeconds };
    if (isCapOn(terms) && isNativeCoin(terms.token)) {
      const message = 'stands for the native coin, which no order sells: name the wrapped token';
      return refuseFields([{ path: ['token'], message }]);
    }
    return { type: 'FillCapSet', maker: lower(maker), ...terms, issuedAtMs };
  });
  return new Map([
    [paths.cancelAll, cancelAll],
    [paths.heartbeat, heartbeat],
    [paths.cancelKeys, cancelKeys],
    [paths.fillCap, fillCap],
  ]);
}

/** Checks the time until which orders are cancelled. */
export function refuseUntil(untilMs: number, nowMs: number): Refusal | undefined {
  return refuseTime('untilMs', untilMs, nowMs, UNTIL_AHEAD_MS_MAX);
}

/** Checks a time of a message by the clock here. Only `cancelAt` may lie beyond these bounds. */
function refuseTime(field: string, timeMs: number, nowMs: number, aheadMsMax: number): Refusal | undefined {
  if (timeMs <= nowMs + aheadMsMax && timeMs >= nowMs - AGE_MS_MAX) return undefined;
  const message =
    `must be in milliseconds since 1970, at most ${aheadMsMax / 1000} s ahead of the clock here (${nowMs}) and ` +
    `${AGE_MS_MAX / 1000} s behind it`;
  return refuseFields([{ path: [field], message }]);
}
