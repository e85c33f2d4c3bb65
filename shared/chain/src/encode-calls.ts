import type { Address, Hex } from '@makerbook/contracts-primitives';

/** The word by which a wallet accepts a signature: the selector, then zeros. */
export const SIGNATURE_ACCEPTED = 0x1626ba7en << 224n;

const BALANCE_OF = '0x70a08231';
const ALLOWANCE = '0xdd62ed3e';
const TRUE = numberWord(1);
const OFFSET_OF_CALL_DATA = numberWord(96);

/** One read of a contract's state. */
export interface StateCall {
  readonly to: Address;
  readonly data: Hex;
  /** The gas of one payer's calls in a reading is bounded. Calls without a payer have no such bound. */
  readonly payer?: Address | undefined;
}

/** `balanceOf(account)` of an ERC-20. */
export const balanceOf = (token: Address, account: Address): StateCall => ({
  to: token,
  data: `${BALANCE_OF}${addressWord(account)}`,
});

/** `allowance(owner, spender)` of an ERC-20. */
export const allowance = (token: Address, owner: Address, spender: Address): StateCall => ({
  to: token,
  data: `${ALLOWANCE}${addressWord(owner)}${addressWord(spender)}`,
});

/** The account whose balance or allowance the call asks for; undefined for other calls. */
export function accountIn({ data }: StateCall): Address | undefined {
  if (!data.startsWith(BALANCE_OF) && !data.startsWith(ALLOWANCE)) return undefined;
  const firstWord = data.slice(BALANCE_OF.length, BALANCE_OF.length + 64);
  return `0x${firstWord.slice(-40)}`;
}

/** `nonce(maker)` of the LimitOrderProtocol: the maker's cancel-all counter. */
export const nonceOf = (protocol: Address, maker: Address): StateCall => ({
  to: protocol,
  data: `0x70ae92d2${addressWord(maker)}`,
});

/** `filled(orderHash)` of the LimitOrderProtocol: the sum of all fills, in the making token. */
export const filledOf = (protocol: Address, orderHash: Hex): StateCall => ({
  to: protocol,
  data: `0x288cdc91${orderHash.slice(2)}`,
});

/** `cancelled(orderHash)` of the LimitOrderProtocol: 1 once the maker has cancelled the order on-chain. */
export const cancelledOf = (protocol: Address, orderHash: Hex): StateCall => ({
  to: protocol,
  data: `0x2ac12622${orderHash.slice(2)}`,
});

/** `isValidSignature(digest, signature)` of a contract wallet (EIP-1271). */
export function isValidSignature(wallet: Address, digest: Hex, signature: Hex): StateCall {
  const digits = signature.slice(2);
  const padded = digits.padEnd(Math.ceil(digits.length / 64) * 64, '0');
  return { to: wallet, data: `0x1626ba7e${digest.slice(2)}${numberWord(64)}${numberWord(digits.length / 2)}${padded}` };
}

/** Calldata of Multicall3's `aggregate3`. Every call may fail. */
export function encodeAggregate3(calls: readonly StateCall[]): Hex {
  const heads: string[] = [];
  const tails: string[] = [];
  let offsetBytes = calls.length * 32;
  for (const { to, data } of calls) {
    const digits = data.length - 2;
    const padded = Math.ceil(digits / 64) * 64;
    heads.push(numberWord(offsetBytes));
    tails.push(addressWord(to), TRUE, OFFSET_OF_CALL_DATA, numberWord(digits / 2), data.slice(2).padEnd(padded, '0'));
    offsetBytes += 4 * 32 + padded / 2;
  }
  return `0x82ad56cb${numberWord(32)}${numberWord(calls.length)}${heads.join('')}${tails.join('')}`;
}

/** The outcome of one aggregated call. `data` holds the returned bytes as hex digits without 0x. */
export interface CallOutcome {
  readonly succeeded: boolean;
  readonly data: string;
}

/** Reads what `aggregate3` returned; undefined if it does not fit `count` calls. */
export function decodeAggregate3(returned: Hex, count: number): readonly CallOutcome[] | undefined {
  const at = (bytes: number) => 2 + bytes * 2;
  const readNumber = (bytes: number) => Number.parseInt(returned.slice(at(bytes), at(bytes + 32)), 16);
  if (returned.length < at(64) || readNumber(0) !== 32 || readNumber(32) !== count) return undefined;
  const outcomes: CallOutcome[] = [];
  for (let index = 0; index < count; index += 1) {
    const tuple = 64 + readNumber(64 + index * 32);
    const length = readNumber(tuple + 64);
    const from = at(tuple + 96);
    // This form also refuses NaN, which a text that ends too early leads to.
    if (!(from + length * 2 <= returned.length)) return undefined;
    outcomes.push({ succeeded: readNumber(tuple) === 1, data: returned.slice(from, from + length * 2) });
  }
  return outcomes;
}

function numberWord(value: number): string {
  return value.toString(16).padStart(64, '0');
}

function addressWord(address: Address): string {
  return `000000000000000000000000${address.slice(2)}`;
}
