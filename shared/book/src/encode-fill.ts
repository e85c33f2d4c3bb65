import type { Hex } from '@makerbook/contracts-primitives';
import type { Fill, Quote } from './quote-orders.js';

export interface FillLimits {
  /**
   * The worst that you accept for what you asked: the least amountOut if you asked with amountIn, else the most
   * amountIn. Defaults to the quote's own amount. Then spare orders help only if their price is as good.
   */
  readonly limit?: bigint | undefined;
  /** The most gas of one fill, failed or not. Defaults to 300,000. */
  readonly gasPerFill?: number;
}

/** The selector of `fill` in contracts/evm/sol/OrderFiller.sol, and the words of its head and of a try's head. */
const SELECTOR = '0xae325c02';
const HEAD_WORDS = 5;
const TRY_WORDS = 11;
const MAX_UINT256 = 2n ** 256n - 1n;
const GAS_PER_FILL = 300_000;
/** Gas before the refund at the end, so more than is paid for. */
const GAS_OF_CALL = 200_000;
const GAS_OF_TRY = 100_000;
/** Gas of a transaction besides its fills, and for each spare order that it does not need. */
const GAS_OF_TRANSACTION = 125_000;
const GAS_OF_SPARE = 7_000;
const MILLION = 1_000_000n;
/** Only contract wallets have signatures of other lengths. They may take all the gas of a fill. */
const SIGNATURE_BYTES = [64, 65];

/** Why no transaction can fill the quote, and the value at fault. */
export interface FillFault {
  readonly name: 'amountIn' | 'amountOut' | 'limit' | 'gasPerFill';
  readonly detail: string;
}

/** Tells why the quote cannot be filled within the limits, if so. Also judges a quote without fills, by its amounts. */
export function findFault({ asked, amountIn, amountOut }: Quote, limits: FillLimits = {}): FillFault | undefined {
  const { limit, gasPerFill = GAS_PER_FILL } = limits;
  const given = { ...asked, limit: limit ?? 0n, gasPerFill };
  for (const [name, value] of Object.entries(given) as [FillFault['name'], bigint | number][])
    if (typeof value === 'bigint' ? !isUint256(value) : !Number.isSafeInteger(value) || value < 0)
      return { name, detail: 'must be a whole number from 0 to 2^256 - 1' };
  if (!isUint256(amountIn)) return { name: 'amountOut', detail: 'costs more than 2^256 - 1 of tokenIn: ask for less' };
  if (!isUint256(amountOut)) return { name: 'amountIn', detail: 'buys more than 2^256 - 1 of tokenOut: ask for less' };
  if (limit === undefined) return undefined;
  if ('amountIn' in asked && amountOut < limit)
    return { name: 'limit', detail: `cannot be met: the orders give ${amountOut} of tokenOut` };
  if ('amountOut' in asked && amountIn > limit)
    return { name: 'limit', detail: `cannot be met: the orders cost ${amountIn} of tokenIn` };
  return undefined;
}

/**
 * The calldata for an `OrderFiller`. It fills the quote, and tries the spare orders if a fill fails. Send it to be
 * mined at once: the quote holds for its block.
 * @throws RangeError if there are no fills, or if `findFault` finds a fault
 */
export function fillCalldata(quote: Quote, limits: FillLimits = {}): Hex {
  const { asked, fills, spares, amountIn, amountOut } = quote;
  if (fills.length === 0) throw new RangeError('the quote fills nothing');
  const fault = findFault(quote, limits);
  if (fault !== undefined) throw new RangeError(`${fault.name} ${fault.detail}`);
  const { limit, gasPerFill = GAS_PER_FILL } = limits;
  const amounts =
    'amountIn' in asked
      ? [asked.amountIn, MAX_UINT256, limit ?? amountOut]
      : [limit ?? amountIn, asked.amountOut, amountOut];
  const tries = [...fills, ...spares].map(encodeTry);
  const starts = tries.map((_, index) => tries.length * 32 + bytesIn(tries.slice(0, index).join('')));
  const words = [HEAD_WORDS * 32, ...amounts, gasPerFill, tries.length, ...starts].map(word);
  return `${SELECTOR}${words.join('')}${tries.join('')}`;
}

/** A gas limit that lets the call try every spare order, for tokens like OpenZeppelin's; 0 without fills. */
export function gasLimitOf({ fills, spares }: Quote): number {
  if (fills.length === 0) return 0;
  const gasOf = ({ entry: { signature } }: Fill) =>
    SIGNATURE_BYTES.includes(bytesIn(signature.slice(2))) ? GAS_OF_TRY : GAS_PER_FILL;
  return [...fills, ...spares].reduce((sum, each) => sum + gasOf(each), GAS_OF_CALL);
}

/** The approximate gas of the call if every fill works, for tokens like OpenZeppelin's; 0 without fills. */
export function gasUsedOf({ fills, spares, gas }: Quote): number {
  return fills.length === 0 ? 0 : GAS_OF_TRANSACTION + gas + spares.length * GAS_OF_SPARE;
}

/**
 * The rest of `amountOut` after the cost of `gasUsedOf`; below zero if the gas costs more.
 * @param amountOutPerMillionGas what a million gas costs, in the smallest unit of tokenOut
 */
export function netAmountOut(quote: Quote, amountOutPerMillionGas: bigint): bigint {
  const cost = BigInt(gasUsedOf(quote)) * amountOutPerMillionGas;
  return quote.amountOut - (cost + MILLION - 1n) / MILLION;
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

const isUint256 = (value: bigint) => value >= 0n && value <= MAX_UINT256;
const bytesIn = (digits: string) => digits.length / 2;
const word = (value: Hex | bigint | number) => BigInt(value).toString(16).padStart(64, '0');
