import type { Hex } from '@makerbook/contracts-primitives';
import type { Fill, Quote } from './quote-orders.js';

export interface FillLimits {
  /**
   * The worst that you accept for what you asked: the least amountOut if you asked with amountIn, else the most amountIn. The
   * quote's own amount unless given: then spare orders help only if their price is as good.
   */
  readonly limit?: bigint;
  /** The most gas of one fill, failed or not; 300,000 unless given. */
  readonly gasPerFill?: number;
}

/** `fill` of contracts/evm/sol/OrderFiller.sol: its selector, and the words of its head and of a try's. */
const SELECTOR = '0xae325c02';
const HEAD_WORDS = 5;
const TRY_WORDS = 11;
const MAX_UINT256 = 2n ** 256n - 1n;

/**
 * The calldata for an `OrderFiller`: it fills the quote, and tries the spare orders if a fill fails. Send it to be mined at
 * once: the quote holds for its block.
 * @throws RangeError without fills
 */
export function fillCalldata({ asked, fills, spares, amountIn, amountOut }: Quote, limits: FillLimits = {}): Hex {
  if (fills.length === 0) throw new RangeError('the quote fills nothing');
  const { limit, gasPerFill = 300_000 } = limits;
  const amounts =
    'amountIn' in asked
      ? [asked.amountIn, MAX_UINT256, limit ?? amountOut]
      : [limit ?? amountIn, asked.amountOut, amountOut];
  const tries = [...fills, ...spares].map(encodeTry);
  const starts = tries.map((_, index) => tries.length * 32 + bytesIn(tries.slice(0, index).join('')));
  const words = [HEAD_WORDS * 32, ...amounts, gasPerFill, tries.length, ...starts].map(word);
  return `${SELECTOR}${words.join('')}${tries.join('')}`;
}

function encodeTry({ entry: { order, signature }, executable }: Fill): string {
  const { salt, nonce, expiresAt, making, taking, maker, permittedTaker } = order;
  const fields = [
    salt,
    nonce,
    expiresAt,
    making.token,
    making.amount,
    taking.token,
    taking.amount,
    maker,
    permittedTaker,
  ];
  const bytes = signature.slice(2);
  const head = [...fields, TRY_WORDS * 32, executable, bytesIn(bytes)].map(word).join('');
  return head + bytes.padEnd(Math.ceil(bytes.length / 64) * 64, '0');
}

const bytesIn = (digits: string) => digits.length / 2;
const word = (value: Hex | bigint | number) => BigInt(value).toString(16).padStart(64, '0');
