import { parseArgs } from 'node:util';
import { cause, type MakerLimits, makerLimits, type ServiceMode } from '@makerbook/contracts-events';
import type { Hex } from '@makerbook/contracts-primitives';
import { z } from 'zod';

/** What an operator asks for. */
export type Command =
  | { readonly do: 'migrate' }
  | { readonly do: 'topics' }
  | ParkedCommand
  | Decision
  | { readonly do: 'list'; readonly isJson: boolean }
  /** Without a maker: what was decided about the whole service. */
  | { readonly do: 'history'; readonly maker: Hex | undefined; readonly isJson: boolean };

export interface ParkedCommand {
  readonly do: 'parked';
  readonly verb: 'list' | 'show' | 'replay' | 'discard';
  /** None of `list`, one at least of the others. */
  readonly ids: readonly string[];
  readonly isJson: boolean;
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

/** Who decides, where it is not the user of the machine, and why. */
export interface Justified {
  readonly by?: string | undefined;
  readonly reason?: string | undefined;
}

/** Words that are no command: what is wrong with them; empty where only the usage helps. */
export interface NoCommand {
  readonly wrong: readonly string[];
}

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
};
const justified = ['by', 'reason'];
const optionsOf: Readonly<Record<string, readonly string[]>> = {
  'makers add': justified,
  'makers suspend': justified,
  'makers remove': justified,
  'makers release': justified,
  'makers cancel-only': justified,
  'makers set': [...justified, 'open-orders', 'orders-per-second', 'burst', 'default'],
  'makers list': ['json'],
  'makers history': ['json'],
  'parked list': ['json'],
  'parked show': [],
  'parked replay': [],
  'parked discard': [],
};

/** @param words of the command line */
export function parseCommand(words: readonly string[]): Command | NoCommand {
  const parsed = readOptions(words);
  if ('wrong' in parsed) return parsed;
  const { values, positionals } = parsed;
  const [group, verb = '', ...rest] = positionals;
  if (words.length === 1 && (group === 'migrate' || group === 'topics')) return { do: group };
  const allowed = optionsOf[`${group} ${verb}`];
  if (allowed === undefined || !Object.keys(values).every((name) => allowed.includes(name))) return { wrong: [] };
  const isJson = values.json === true;
  if (group === 'parked') {
    if ((verb === 'list') !== (rest.length === 0)) return { wrong: [] };
    return { do: group, verb: verb as ParkedCommand['verb'], ids: rest, isJson };
  }
  if (verb === 'list') return rest.length === 0 ? { do: 'list', isJson } : { wrong: [] };
  const { by, reason } = values;
  const said = cause.safeParse({ kind: 'operator', commandId: 'command', by, reason });
  if (!said.success) return { wrong: [z.prettifyError(said.error)] };
  if (verb === 'cancel-only') {
    const mode = rest.length === 1 && rest[0] !== undefined ? modes[rest[0]] : undefined;
    return mode === undefined ? { wrong: [] } : { do: 'cancel-only', mode, by, reason };
  }
  const makers = readAddresses(rest);
  if ('wrong' in makers) return makers;
  if (verb === 'history') {
    return makers.length > 1 ? { wrong: [] } : { do: 'history', maker: makers[0], isJson };
  }
  if (makers.length === 0) return { wrong: [] };
  if (verb === 'add' || verb === 'suspend' || verb === 'remove' || verb === 'release') {
    return { do: verb, makers, by, reason };
  }
  if (verb !== 'set') return { wrong: [] };
  const limits = readLimits(values);
  const isReset = values.default === true;
  if ('wrong' in limits) return limits;
  if (Object.keys(limits).length === 0 && !isReset) return { wrong: [] };
  return { do: 'set', makers, limits, isReset, by, reason };
}

const modes: Readonly<Record<string, ServiceMode>> = { on: 'CANCEL_ONLY', off: 'NORMAL' };

function readOptions(words: readonly string[]) {
  try {
    return parseArgs({ args: [...words], options, allowPositionals: true });
  } catch (error) {
    return { wrong: [error instanceof Error ? error.message : String(error)] };
  }
}

function readAddresses(words: readonly string[]): readonly Hex[] | NoCommand {
  const wrong = words.filter((word) => !/^0x[0-9a-fA-F]{40}$/.test(word));
  if (wrong.length > 0) return { wrong: wrong.map((word) => `${word} is no address: 0x and 40 hex digits`) };
  return [...new Set(words.map((word) => word.toLowerCase() as Hex))];
}

function readLimits(values: {
  readonly 'open-orders'?: string | undefined;
  readonly 'orders-per-second'?: string | undefined;
  readonly burst?: string | undefined;
}): MakerLimits | NoCommand {
  const given = Object.entries({
    openOrdersMax: values['open-orders'],
    ordersPerSecond: values['orders-per-second'],
    ordersBurst: values.burst,
  }).filter((one): one is [string, string] => one[1] !== undefined);
  const read = makerLimits.safeParse(Object.fromEntries(given.map(([name, word]) => [name, Number(word)])));
  return read.success ? read.data : { wrong: [z.prettifyError(read.error)] };
}
