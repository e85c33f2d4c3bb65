import { cause, type MakerLimits, makerLimits, type ServiceMode } from '@makerbook/contracts-events';
import { bytesToHex, keccak256 } from '@makerbook/contracts-evm';
import type { Hex } from '@makerbook/contracts-primitives';
import { describeUnknown, parseWords } from '@makerbook/settings';
import { z } from 'zod';
import type { ContractsCommand } from './contracts-command.js';
import type { DoctorCommand } from './doctor-command.js';

/** A command of an operator. */
export type Command =
  | { readonly do: 'migrate' }
  | { readonly do: 'topics' }
  | ContractsCommand
  | DoctorCommand
  | ParkedCommand
  | ArchiveCommand
  | Decision
  | { readonly do: 'list'; readonly isJson: boolean }
  /** `maker` undefined: the decisions about the whole service. */
  | { readonly do: 'history'; readonly maker: Hex | undefined; readonly isJson: boolean };

export interface ParkedCommand {
  readonly do: 'parked';
  readonly verb: 'list' | 'show' | 'replay' | 'discard';
  /** Empty for `list`; at least one for the others. */
  readonly ids: readonly string[];
  readonly isJson: boolean;
}

export interface ArchiveCommand {
  readonly do: 'log';
  readonly verb: 'archive' | 'restore' | 'verify';
  readonly folder: string;
  /** True if it continues until it is stopped. */
  readonly isFollowing: boolean;
}

/** One of the commands that write facts. */
export type Decision =
  | ({ readonly do: 'add' | 'suspend' | 'remove' | 'release'; readonly makers: readonly Hex[] } & Justified)
  /** `isReset`: limits that are not named are the service's again; otherwise they stay. */
  | ({
      readonly do: 'set';
      readonly makers: readonly Hex[];
      readonly limits: MakerLimits;
      readonly isReset: boolean;
    } & Justified)
  | ({ readonly do: 'cancel-only'; readonly mode: ServiceMode } & Justified);

/** The person who decides, if not the user of the machine, and the reason. */
export interface Justified {
  readonly by?: string | undefined;
  readonly reason?: string | undefined;
}

/** Words that are no command: what is wrong with them, and whether the usage helps. */
export interface NoCommand {
  readonly wrong: readonly string[];
  readonly needsUsage?: boolean;
}

const incomplete: NoCommand = { wrong: [], needsUsage: true };

const limitOf = {
  'open-orders': 'openOrdersMax',
  'orders-per-second': 'ordersPerSecond',
  burst: 'ordersBurst',
} as const;

const text = { type: 'string' } as const;
const flag = { type: 'boolean' } as const;
const options = {
  by: text,
  reason: text,
  'open-orders': text,
  'orders-per-second': text,
  burst: text,
  default: flag,
  json: flag,
  tokens: flag,
  yes: flag,
  follow: flag,
};
const justified = ['by', 'reason'];
const optionsOf: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    migrate: [],
    topics: [],
    contracts: ['tokens', 'yes'],
    doctor: ['json'],
    'makers add': justified,
    'makers suspend': justified,
    'makers remove': justified,
    'makers release': justified,
    'makers cancel-only': justified,
    'makers set': [...justified, ...Object.keys(limitOf), 'default'],
    'makers list': ['json'],
    'makers history': ['json'],
    'parked list': ['json'],
    'parked show': [],
    'parked replay': [],
    'parked discard': [],
    'log archive': ['follow'],
    'log restore': [],
    'log verify': [],
  }),
);

/** @param words the words of the command line */
export function parseCommand(words: readonly string[]): Command | NoCommand {
  let parsed: ReturnType<typeof parseWords<typeof options>>;
  try {
    parsed = parseWords(words, options);
  } catch (error) {
    return { wrong: [(error as Error).message] };
  }
  const { values, positionals } = parsed;
  const [group = '', verb = '', ...rest] = positionals;
  const name = optionsOf.has(group) ? group : `${group} ${verb}`;
  const allowed = optionsOf.get(name);
  if (allowed === undefined) return refuseCommand(group, verb);
  const other = Object.keys(values).find((option) => !allowed.includes(option));
  if (other !== undefined) {
    return { wrong: [describeUnknown(`option of \`${name}\``, `--${other}`, [])], needsUsage: true };
  }
  if (group === 'migrate' || group === 'topics') return positionals.length === 1 ? { do: group } : incomplete;
  if (group === 'contracts') {
    const isAlone = positionals.length === 1;
    return isAlone ? { do: group, withTokens: values.tokens === true, isSure: values.yes === true } : incomplete;
  }
  const isJson = values.json === true;
  if (group === 'doctor') return positionals.length === 1 ? { do: group, isJson } : incomplete;
  if (group === 'parked') {
    if ((verb === 'list') !== (rest.length === 0)) return incomplete;
    return { do: group, verb: verb as ParkedCommand['verb'], ids: rest, isJson };
  }
  if (group === 'log') {
    const [folder, ...more] = rest;
    if (folder === undefined || more.length > 0) return incomplete;
    return { do: group, verb: verb as ArchiveCommand['verb'], folder, isFollowing: values.follow === true };
  }
  if (verb === 'list') return rest.length === 0 ? { do: 'list', isJson } : incomplete;
  const { by, reason } = values;
  const said = cause.safeParse({ kind: 'operator', commandId: 'command', by, reason });
  if (!said.success) return { wrong: [z.prettifyError(said.error)] };
  if (verb === 'cancel-only') {
    const mode = rest.length === 1 ? modes.get(rest[0] ?? '') : undefined;
    return mode === undefined ? incomplete : { do: 'cancel-only', mode, by, reason };
  }
  const makers = readAddresses(rest);
  if ('wrong' in makers) return makers;
  if (verb === 'history') {
    return makers.length > 1 ? incomplete : { do: 'history', maker: makers[0], isJson };
  }
  if (makers.length === 0) return incomplete;
  if (verb !== 'set') return { do: verb as 'add' | 'suspend' | 'remove' | 'release', makers, by, reason };
  const limits = readLimits(values);
  const isReset = values.default === true;
  if ('wrong' in limits) return limits;
  if (Object.keys(limits).length === 0 && !isReset) return incomplete;
  return { do: 'set', makers, limits, isReset, by, reason };
}

const modes: ReadonlyMap<string, ServiceMode> = new Map([
  ['on', 'CANCEL_ONLY'],
  ['off', 'NORMAL'],
]);

/** Names the word that is no command. */
function refuseCommand(group: string, verb: string): NoCommand {
  const commands = [...optionsOf.keys()].map((name) => name.split(' '));
  const groups = [...new Set(commands.flatMap(([first]) => first ?? []))];
  const verbs = commands.filter(([first]) => first === group).flatMap(([, second]) => second ?? []);
  if (group === '' || (verb === '' && verbs.length > 0)) return incomplete;
  const wrong = verbs.length > 0 ? describeUnknown('command', verb, verbs) : describeUnknown('command', group, groups);
  return { wrong: [wrong], needsUsage: true };
}

function readAddresses(words: readonly string[]): readonly Hex[] | NoCommand {
  const wrong = words.flatMap((word) => {
    if (!/^0x[0-9a-fA-F]{40}$/.test(word)) return `${word} is not an address: 0x and 40 hex digits`;
    return hasChecksum(word) ? [] : `${word} has a wrong checksum (EIP-55): one of its characters may be mistyped`;
  });
  return wrong.length > 0 ? { wrong } : [...new Set(words.map((word) => word.toLowerCase() as Hex))];
}

/** True if the case of the letters is the checksum of the address (EIP-55), or all letters have one case. */
function hasChecksum(address: string): boolean {
  const digits = address.slice(2);
  const lowercase = digits.toLowerCase();
  if (digits === lowercase || digits === digits.toUpperCase()) return true;
  const hash = bytesToHex(keccak256(Buffer.from(lowercase))).slice(2);
  return [...digits].every((digit, at) => {
    const isUppercase = Number.parseInt(hash[at] ?? '', 16) >= 8;
    return digit === (isUppercase ? digit.toUpperCase() : digit.toLowerCase());
  });
}

function readLimits(values: Readonly<Record<string, unknown>>): MakerLimits | NoCommand {
  const given = Object.entries(limitOf).filter(([option]) => values[option] !== undefined);
  const limits = Object.fromEntries(given.map(([option, limit]) => [limit, Number(values[option])]));
  const read = makerLimits.safeParse(limits);
  if (read.success) return read.data;
  const optionOf = (name: unknown) => given.find(([, limit]) => limit === name)?.[0];
  return { wrong: read.error.issues.map(({ path, message }) => `--${optionOf(path[0])}: ${message}`) };
}
