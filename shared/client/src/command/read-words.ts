import { parseArgs } from 'node:util';
import { readAddress, readHex, readToken, readUint256, UNIX_SECONDS } from '@makerbook/contracts-primitives';
import type { FillCap } from '../cancel-all.js';

const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d)$/;

/** The words of a command are wrong, and nothing was sent. The message shows no word that may be a key. */
export class WrongWords extends Error {
  override readonly name = 'WrongWords';
}

export const options = {
  making: { type: 'string' },
  taking: { type: 'string' },
  expires: { type: 'string' },
  nonce: { type: 'string' },
  remaining: { type: 'string' },
  window: { type: 'string' },
  salt: { type: 'string' },
  status: { type: 'string' },
  list: { type: 'string' },
  stream: { type: 'string' },
  history: { type: 'string' },
  at: { type: 'string' },
  happened: { type: 'string' },
  from: { type: 'string' },
  to: { type: 'string' },
  cursor: { type: 'string' },
  data: { type: 'string' },
  'min-output': { type: 'string' },
  seed: { type: 'string' },
  port: { type: 'string' },
  for: { type: 'string' },
  maker: { type: 'string' },
  help: { type: 'boolean' },
  version: { type: 'boolean' },
} as const;

/** An option that takes a text. */
export type OptionName = Exclude<keyof typeof options, 'help' | 'version'>;

/** The words behind the name of a command. */
export interface Words {
  readonly values: Readonly<Partial<Record<OptionName, string>>>;
  readonly rest: readonly string[];
}

/** @throws WrongWords for an unknown option, or one without its text */
export function splitWords(words: readonly string[]) {
  try {
    const { values, positionals } = parseArgs({ args: [...words], options, allowPositionals: true });
    const { help = false, version = false, ...texts } = values;
    const [name = '', ...rest] = positionals;
    return { help, version, name, values: texts, rest };
  } catch (error) {
    throw new WrongWords((error as Error).message.split('. ')[0]?.replace(/[0-9a-fA-F]{20,}/g, '…'));
  }
}

/** A word for an error message. A long one is hidden: it can be a key. */
export const shown = (word: string) => (word.length > 20 ? 'a long word' : `\`${word}\``);

/** `TOKEN:AMOUNT`. @throws WrongWords, WrongValue */
export function readAmount(name: OptionName, { values }: Words) {
  const [token, amount, ...more] = (values[name] ?? '').split(':');
  if (amount === undefined || more.length > 0) {
    throw new WrongWords(`--${name} must be TOKEN:AMOUNT, the amount in the smallest unit of the token`);
  }
  return { token: readToken(`the token of --${name}`, token), amount: readUint256(`the amount of --${name}`, amount) };
}

/** Reads a length of time, in seconds. @param daysMax the most days (a timer takes 24). @throws WrongWords */
export function readSeconds(name: string, text: string, daysMax = Number.POSITIVE_INFINITY): number {
  const [, count, unit = ''] = /^([1-9][0-9]{0,8})([smhd])$/.exec(text) ?? [];
  if (count === undefined)
    throw new WrongWords(`${name} must be a length of time with its unit, such as 30s, 15m, 12h or 7d`);
  const seconds = Number(count) * (UNIT_SECONDS[unit] ?? 0);
  if (seconds > daysMax * 86_400) throw new WrongWords(`${name} must be at most ${daysMax}d`);
  return seconds;
}

/**
 * Reads a time, or a length of time from now.
 * @returns a function that takes the time now and returns the time read, both in milliseconds since 1970
 * @throws WrongWords if it is neither
 */
export function readMoment(name: string, text: string, direction: 1 | -1): (nowMs: number) => number {
  const timeMs = TIME.test(text) ? Date.parse(text) : Number.NaN;
  if (timeMs >= UNIX_SECONDS.min * 1000) return () => timeMs;
  if (!/^[1-9][0-9]{0,8}[smhd]$/.test(text)) {
    const forms = 'a length of time with its unit (30s, 15m, 12h, 7d), or a time such as 2030-12-31T23:59:59Z';
    throw new WrongWords(`${name} must be ${forms}`);
  }
  const lengthMs = readSeconds(name, text) * 1000;
  return (nowMs) => nowMs + direction * lengthMs;
}

/** An order to cancel: its hash, and its salt if given. */
export interface NamedOrder {
  readonly orderHash: string;
  readonly salt?: bigint;
}

/** `HASH` or `HASH:SALT`. @throws WrongWords, WrongValue */
export function readOrders({ rest }: Words): readonly NamedOrder[] {
  if (rest.length === 0) throw new WrongWords('no order is named: give the hashes');
  return rest.map((word, index) => {
    const [hash, salt, ...more] = word.split(':');
    if (more.length > 0) throw new WrongWords('an order must be HASH or HASH:SALT');
    const orderHash = readHex(`hash ${index + 1}`, hash, 32);
    return { orderHash, ...(salt !== undefined && { salt: readUint256(`salt ${index + 1}`, salt) }) };
  });
}

/** The tokens that --making and --taking name. */
export function readTokens({ making, taking }: Words['values']) {
  return {
    ...(making !== undefined && { making: readAddress('--making', making) }),
    ...(taking !== undefined && { taking: readAddress('--taking', taking) }),
  };
}

export function readKeys(name: string, keys: readonly string[] = []) {
  return keys.map((key, index) => readAddress(`${name} ${index + 1}`, key));
}

/** Reads --remaining: the amount left of the order to replace. */
export function readLeft({ values: { remaining }, rest }: Words) {
  if (remaining === undefined) return {};
  if (rest.length > 1) throw new WrongWords('--remaining needs one order: give one hash');
  return { remainingMakingAmount: readUint256('--remaining', remaining) };
}

export function readCap(words: Words): FillCap {
  const { window } = words.values;
  const { token, amount } = readAmount('making', words);
  if (window === undefined && amount > 0n) throw new WrongWords('--window is missing: a length of time, such as 60s');
  return { token, amount, windowSeconds: window === undefined || window === '0' ? 0 : readSeconds('--window', window) };
}

/** The salt that names the orders, if no hashes are given. */
export function readSalts({ values: { salt }, rest }: Words) {
  return salt === undefined || rest.length > 0 ? undefined : [readUint256('--salt', salt)];
}

/** Reads words in capitals, separated by commas. @param must says what they must be, for the error */
export function readKinds(must: string, text: string | undefined): string[] | undefined {
  if (text !== undefined && !/^[A-Z]+(,[A-Z]+)*$/.test(text)) throw new WrongWords(`${must}, and not ${shown(text)}`);
  return text?.split(',');
}
