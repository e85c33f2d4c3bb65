import type { Address, Hex } from '@makerbook/contracts-primitives';
import { type Exits, noExits } from './exits.js';
import { FILL_CAPS_MAX, isCapOn } from './fill-caps.js';
import type { Budget } from './standing.js';
import { type Instruction, isSpent, makerOf, retryAfterMsOf, type Standing, spend } from './standing.js';
import { unavailable, type Verdict } from './verdict.js';

/** A request to make a standing instruction count from now on. */
export interface Instructing {
  readonly kind: 'instruction';
  readonly lastsMs: number;
  readonly budget: Budget;
  readonly maker: Address;
  readonly partition: number;
  /** The mark of the request in flight, which a list waits for. */
  readonly mark: Hex;
  readonly instruction: Instruction;
  /** The instruction was taken before. The request only asks whether it still counts. */
  readonly isRepeat: boolean;
}

type Counting = Pick<Instruction, 'subject' | 'issuedAtMs' | 'terms'>;

/** Decides whether an instruction counts, given those that are folded or in flight. Charges and marks one that does. */
export function decideInstruction(standing: Standing, request: Instructing, nowMs: number): Verdict {
  const { maker, partition, mark, budget, instruction, isRepeat, lastsMs } = request;
  const own = makerOf(standing, maker);
  const cost = isRepeat ? 0 : 1;
  const { left, atMs } = spend(own.cancels, budget, cost, nowMs);
  const leaving = (count: number) => {
    const remaining = [Math.floor(Math.max(0, left) + count)];
    return { left: { of: 'cancels', makers: [{ maker, budget }], remaining }, ofClient: 0 } as const;
  };
  if (isSpent(left)) {
    const detail = `the maker's budget of ${budget.ratePerSecond} cancellations per second is spent; this costs 1`;
    const remaining = [Math.floor(left + cost)];
    const refusal = { code: 'rate_limited', detail, retryAfterMs: retryAfterMsOf(left, budget) } as const;
    return { decisions: [], refusal, left: { ...leaving(0).left, remaining }, ofClient: 0 };
  }
  const refusal = refuseInstruction(own, instruction);
  if (refusal !== undefined) return { decisions: [], refusal, ...leaving(cost) };
  const isKnown = standing.trustedSinceMs !== undefined && !own.isQuarantined;
  if (isRepeat) return { decisions: [], isKnown, ...leaving(0) };
  return {
    decisions: [
      { kind: 'charge', maker, of: 'cancels', tokens: { left, atMs } },
      { kind: 'mark', maker, partition, orderHash: mark, untilMs: nowMs + lastsMs, instruction },
    ],
    isKnown,
    ...leaving(0),
  };
}

function refuseInstruction(
  { exits, instructions }: { readonly exits: Exits; readonly instructions: readonly Instruction[] },
  asked: Instruction,
): Verdict['refusal'] {
  const all = standingOf(exits, instructions);
  if (asked.key !== undefined && !keysOf(all).includes(asked.key)) {
    return unavailable('nothing was changed: whether the key may do this is not known now; send the request again');
  }
  const counting = all.get(asked.subject);
  if (counting !== undefined && isBehind(asked, counting)) {
    const detail =
      'nothing was changed: `counts` was issued later, or at the same time; sign again, with a later issuedAtMs';
    return { code: 'superseded', detail, counts: { ...counting.terms, issuedAtMs: counting.issuedAtMs } };
  }
  const others = [...all.values()].filter(({ subject, terms }) => subject !== asked.subject && isCap(terms));
  if (!isCap(asked.terms) || others.length < FILL_CAPS_MAX) return undefined;
  const detail = `is one more than the ${FILL_CAPS_MAX} tokens that may have a cap: first remove another (amount 0)`;
  return { code: 'invalid_request', pointer: '/token', detail };
}

/** Keeps the newest instruction of each subject. Ignores the time of a switch whose key was revoked. */
function standingOf(folded: Partial<Exits>, marked: readonly Instruction[]): ReadonlyMap<string, Counting> {
  const { cancelAt, switchIssuedAtMs, switchKey, cancelKeys, readKeys, keysIssuedAtMs, caps } = {
    ...noExits,
    ...folded,
  };
  const given: Instruction[] = [
    ...(keysIssuedAtMs > 0
      ? [{ subject: 'keys', issuedAtMs: keysIssuedAtMs, terms: { keys: cancelKeys, ...readKeys } }]
      : []),
    ...caps.map(({ token, amount, windowSeconds, issuedAtMs }) => {
      return { subject: `cap:${token}`, issuedAtMs, terms: { amount, windowSeconds } };
    }),
    ...marked,
  ];
  const keys = keysOf(newestOf(given));
  const isRevoked = ({ key }: Pick<Instruction, 'key'>) => key !== undefined && !keys.includes(key);
  const isSet = cancelAt > 0 || switchIssuedAtMs > 0;
  const issuedAtMs = isRevoked({ key: switchKey ?? undefined }) ? 0 : switchIssuedAtMs;
  const folding = isSet ? [{ subject: 'switch', issuedAtMs, terms: { cancelAt } }] : [];
  return newestOf([...folding, ...given.filter((one) => !isRevoked(one))]);
}

function newestOf(given: readonly Counting[]): Map<string, Counting> {
  const newest = new Map<string, Counting>();
  for (const one of given) {
    if (one.issuedAtMs > (newest.get(one.subject)?.issuedAtMs ?? -1)) newest.set(one.subject, one);
  }
  return newest;
}

function keysOf(all: ReadonlyMap<string, Counting>): readonly string[] {
  const terms = all.get('keys')?.terms ?? {};
  return 'keys' in terms && Array.isArray(terms.keys) ? terms.keys : [];
}

function isBehind(asked: Instruction, counting: Counting): boolean {
  if (asked.issuedAtMs !== counting.issuedAtMs) return asked.issuedAtMs < counting.issuedAtMs;
  if (Object.keys(asked.terms).length !== Object.keys(counting.terms).length) return true;
  return Object.entries(asked.terms).some(([name, value]) => {
    return (
      JSON.stringify(value) !== JSON.stringify(Object.entries(counting.terms).find(([other]) => other === name)?.[1])
    );
  });
}

function isCap(terms: object): boolean {
  return 'amount' in terms && 'windowSeconds' in terms && isCapOn(terms as Parameters<typeof isCapOn>[0]);
}
