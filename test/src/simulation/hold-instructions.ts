import type { Exits } from '@makerbook/domain';
import type { Instruction, InstructOutcome } from '@makerbook/postgres';

type Counting = Pick<Instruction, 'subject' | 'issuedAtMs' | 'terms'>;
type Decided =
  | { readonly kind: 'taken' }
  | { readonly kind: 'unknown_key' | 'too_many_caps' }
  | Pick<Extract<InstructOutcome, { kind: 'superseded' }>, 'kind' | 'counts'>;

/**
 * What Postgres decides about a standing instruction: the functions `standing` and `instruct` of the migrations.
 * @param exits as they are folded
 * @param marked what is on its way into the log
 */
export function decideInstruction(
  exits: Exits,
  marked: readonly Instruction[],
  asked: Instruction,
  capsMax: number,
): Decided {
  const all = standing(exits, marked);
  const keys = keysOf(all);
  if (asked.key !== undefined && !keys.includes(asked.key)) return { kind: 'unknown_key' };
  const counting = all.get(asked.subject);
  if (counting !== undefined && isBehind(asked, counting)) {
    return { kind: 'superseded', counts: { ...counting.terms, issuedAtMs: counting.issuedAtMs } };
  }
  const others = [...all.values()].filter(({ subject, terms }) => subject !== asked.subject && isCap(terms));
  return isCap(asked.terms) && others.length >= capsMax ? { kind: 'too_many_caps' } : { kind: 'taken' };
}

/** Of one subject the newest counts, and not the time of a switch by a key that is revoked. */
function standing(exits: Exits, marked: readonly Instruction[]): ReadonlyMap<string, Counting> {
  const { cancelAt, switchIssuedAtMs, switchKey, cancelKeys, keysIssuedAtMs, caps } = exits;
  const folded: Instruction[] = [
    ...(keysIssuedAtMs > 0 ? [{ subject: 'keys', issuedAtMs: keysIssuedAtMs, terms: { keys: cancelKeys } }] : []),
    ...caps.map(({ token, amount, windowSeconds, issuedAtMs }) => {
      return { subject: `cap:${token}`, issuedAtMs, terms: { amount, windowSeconds } };
    }),
  ];
  const given = [...folded, ...marked];
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

const keysOf = (all: ReadonlyMap<string, Counting>): readonly string[] =>
  (all.get('keys')?.terms as { keys: string[] } | undefined)?.keys ?? [];

function isBehind(asked: Instruction, counting: Counting): boolean {
  if (asked.issuedAtMs !== counting.issuedAtMs) return asked.issuedAtMs < counting.issuedAtMs;
  return JSON.stringify(asked.terms) !== JSON.stringify(counting.terms);
}

function isCap(terms: object): boolean {
  return 'amount' in terms && terms.amount !== '0x0' && 'windowSeconds' in terms && terms.windowSeconds !== 0;
}
