import { readFileSync } from 'node:fs';
import { type Hex, readPrivateKey } from '@makerbook/contracts-primitives';
import { z } from 'zod';
import { hideKeys } from './read-options.js';

/** One setting of a service: an environment variable, its possible values, and what it is for. */
export interface Setting<T> {
  readonly schema: z.ZodType<T, string | undefined>;
  /** The default, as in the environment; undefined: the setting is required. */
  readonly fallback: string | undefined;
  readonly description: string;
  /** The value is a secret or may hold one. It is never printed, and `<NAME>_FILE` may name a file that holds it. */
  readonly secret: boolean;
  /** Reads the file again at each use. If that fails, returns the last value, or throws. */
  readonly renewal?: 'keep last' | 'throw';
}

/** The settings of a service, or of a group, by name. */
export type Spec = Readonly<Record<string, Setting<unknown>>>;

/** The typed values of a spec. */
export type SettingsOf<S extends Spec> = { readonly [K in keyof S]: S[K] extends Setting<infer T> ? T : never };

/** Settings that cannot be used. The message names each variable, what is wrong, and what it is for. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';
}

/**
 * Reads a service's settings once, at its start. An empty variable counts as absent. A secret is given as `NAME`, or as
 * `NAME_FILE` with the path of a file that holds it. White space around it is ignored.
 * @throws SettingsError naming every variable that is missing or wrong
 */
export function readSettings<S extends Spec>(
  spec: S,
  environment: Record<string, string | undefined>,
  readFile: ReadFile = (path) => readFileSync(path, 'utf8'),
): SettingsOf<S> {
  const values: Record<string, unknown> = {};
  const problems: string[] = [];
  for (const [name, setting] of Object.entries(spec)) {
    try {
      values[name] = readSetting(name, setting, environment, readFile);
    } catch (error) {
      if (!(error instanceof SettingsError)) throw error;
      problems.push(error.message);
    }
  }
  if (problems.length > 0) throw new SettingsError(`The settings cannot be used:\n  ${problems.join('\n  ')}`);
  return values as SettingsOf<S>;
}

type ReadFile = (path: string) => string;

function readSetting(
  name: string,
  setting: Setting<unknown>,
  environment: Record<string, string | undefined>,
  readFile: ReadFile,
): unknown {
  const [given, file] = variablesOf(name, setting).map((variable) => environment[variable] || undefined);
  if (given !== undefined && file !== undefined) {
    throw new SettingsError(`${name} and ${fileVariable(name)} are both given: give one`);
  }
  const value = file === undefined ? (given ?? setting.fallback) : readSecret(name, file, readFile);
  if (value === undefined) throw new SettingsError(`${name} is missing: ${setting.description}`);
  const parsed = setting.schema.safeParse(value);
  if (!parsed.success) {
    throw new SettingsError(
      `${name}${setting.secret ? '' : `=${hideKeys(value)}`}: ${parsed.error.issues[0]?.message ?? 'wrong'}`,
    );
  }
  if (file === undefined || setting.renewal === undefined) return parsed.data;
  const read = () => readSecret(name, file, readFile);
  return setting.renewal === 'keep last' ? renew(read) : read;
}

const fileVariable = (name: string) => `${name}_FILE`;

/** The variables that can give a setting. */
export function variablesOf(name: string, { secret: isSecret }: Pick<Setting<unknown>, 'secret'>): string[] {
  return isSecret ? [name, fileVariable(name)] : [name];
}

function readSecret(name: string, path: string, readFile: ReadFile): string {
  let content: string;
  try {
    content = readFile(path).trim();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new SettingsError(`${fileVariable(name)}=${path} cannot be read: ${code ?? message}`);
  }
  if (content === '') throw new SettingsError(`${fileVariable(name)}=${path} is empty`);
  return content;
}

/** Reads again at each call. Returns the last value while the file cannot be read. */
export function renew(read: () => string): () => string {
  let last = read();
  return () => {
    try {
      last = read();
    } catch (error) {
      if (!(error instanceof SettingsError)) throw error;
    }
    return last;
  };
}

const setting = <T>(
  schema: z.ZodType<T, string | undefined>,
  description: string,
  fallback?: string,
  secret = false,
): Setting<T> => ({ schema, description, fallback, secret });

/** A text of at least one character, unless its fallback is empty. */
export const text = (description: string, fallback?: string): Setting<string> =>
  setting(z.string(), description, fallback);

/** A URL or a key: never printed. */
export const secret = (
  description: string,
  fallback?: string,
  schema: Setting<string>['schema'] = z.string(),
): Setting<string> => setting(schema, description, fallback, true);

/** A private key of secp256k1, with or without 0x; never printed. It may be empty if its fallback is. */
export const privateKey = (description: string, fallback?: string): Setting<string> =>
  secret(
    description,
    fallback,
    z
      .string()
      .trim()
      .refine((key) => key === '' || isPrivateKey(key), { error: 'must be a private key: 0x and 64 hex digits' }),
  );

function isPrivateKey(key: string): boolean {
  try {
    readPrivateKey('key', key.startsWith('0x') ? key : `0x${key}`);
    return true;
  } catch {
    return false;
  }
}

/** A password or a token that is read at each connection. Its file may be renewed while the service runs. */
export const credential = (description: string, fallback?: string): Setting<() => string> => ({
  ...setting(
    z.string().transform((value) => () => value),
    description,
    fallback,
    true,
  ),
  renewal: 'keep last',
});

/** Like `credential`, for a document. Throws a SettingsError at each use if the file cannot be read. */
export const document = (description: string, fallback?: string): Setting<() => string> => ({
  ...credential(description, fallback),
  renewal: 'throw',
});

/** The same setting for a value that may hold a secret, such as the URL of a provider's node. */
export const hidden = <T>(shown: Setting<T>): Setting<T> => ({ ...shown, secret: true });

/** The address of a server, or empty for none. It has no part about TLS, which has its own settings. */
export const serverUrl = (protocols: readonly [string, ...string[]], tlsSetting: string): Setting<string>['schema'] =>
  z
    .string()
    .refine((value) => value === '' || isUrlOf(value, protocols), {
      error: `must be a URL that begins with ${protocols[0]}//; TLS is set by ${tlsSetting}`,
      abort: true,
    })
    .refine((value) => value === '' || !hasTlsParameter(value), {
      error: `must have no parameter of TLS, which is set by ${tlsSetting}`,
    });

/** The addresses of several servers, comma-separated, each as in `serverUrl`. */
export const serverUrls = (protocols: readonly [string, ...string[]], tlsSetting: string): Setting<string>['schema'] =>
  z.string().superRefine((value, context) => {
    for (const url of value.split(',')) {
      for (const { message } of serverUrl(protocols, tlsSetting).safeParse(url.trim()).error?.issues ?? []) {
        context.addIssue(message);
      }
    }
  });

function isUrlOf(value: string, protocols: readonly string[]): boolean {
  return URL.canParse(value) && protocols.includes(new URL(value).protocol);
}

function hasTlsParameter(url: string): boolean {
  return [...new URL(url).searchParams.keys()].some((name) => /^(ssl|tls)/.test(name));
}

/** A whole number within bounds. Its unit belongs in the name. */
export const integer = (
  description: string,
  fallback: number | undefined,
  { min = 0, max = Number.MAX_SAFE_INTEGER }: { min?: number; max?: number } = {},
): Setting<number> =>
  setting(
    z
      .string()
      .regex(/^(0|[1-9][0-9]*)$/, { error: 'must be a whole number' })
      .transform(Number)
      .pipe(
        z
          .number()
          .min(min, { error: `must be at least ${min}` })
          .max(max, { error: `must be at most ${max}` }),
      ),
    description,
    fallback === undefined ? undefined : String(fallback),
  );

/** A TCP port; 0 takes a free one. */
export const port = (description: string, fallback: number | undefined): Setting<number> =>
  integer(description, fallback, { max: 65_535 });

/** A comma-separated list; empty entries are dropped. */
export const list = (description: string, fallback?: string): Setting<string[]> =>
  setting(
    z.string().transform((value) =>
      value
        .split(',')
        .map((entry) => entry.trim())
        .filter((entry) => entry !== ''),
    ),
    description,
    fallback,
  );

/** Comma-separated entries that match a pattern. The value has the groups of each. */
export const entries = (description: string, pattern: RegExp): Setting<string[][]> => {
  const { schema, ...rest } = list(description, '');
  const error = `must be comma-separated entries like ${pattern.source}`;
  const checked = schema.refine((all) => all.every((entry) => pattern.test(entry)), { error });
  return { ...rest, schema: checked.transform((all) => all.map((entry) => (pattern.exec(entry) ?? []).slice(1))) };
};

/** Origins of web pages, or `*` for any; empty: none. */
export const origins = (description: string): Setting<string[]> => {
  const { schema, ...rest } = list(description, '');
  const isOrigin = (entry: string) => entry === '*' || (URL.canParse(entry) && new URL(entry).origin === entry);
  const error = 'must be `*`, or origins such as https://wallet.example, without a path';
  return { ...rest, schema: schema.refine((entries) => entries.every(isOrigin), { error }) };
};

/** An address in hex of any case; the value is lowercase. */
export const address = (description: string, fallback?: string): Setting<Hex> =>
  setting(
    z
      .string()
      .regex(/^0x[0-9a-fA-F]{40}$/, { error: 'must be a 20-byte hex address' })
      .transform((value) => value.toLowerCase() as Hex),
    description,
    fallback,
  );

/** Addresses in hex of any case, comma-separated; the values are lowercase. */
export const addresses = (description: string): Setting<Hex[]> => {
  const { schema, ...rest } = list(description, '');
  const isAddress = (entry: string) => /^0x[0-9a-fA-F]{40}$/.test(entry) && !/^0x0*$/.test(entry);
  const error = 'must be 20-byte hex addresses, and none of them the zero address';
  const checked = schema.refine((entries) => entries.every(isAddress), { error });
  return { ...rest, schema: checked.transform((entries) => entries.map((entry) => entry.toLowerCase() as Hex)) };
};

/** Names of letters, digits, `_`, `.` and `-`, comma-separated. */
export const names = (description: string): Setting<string[]> => {
  const { schema, ...rest } = list(description, '');
  const error = 'must be names of at most 64 letters, digits, `_`, `.` and `-`';
  return {
    ...rest,
    schema: schema.refine((all) => all.every((name) => /^[A-Za-z0-9_.-]{1,64}$/.test(name)), { error }),
  };
};

/** A setting that takes one of several words. */
export const choice = <const T extends string>(
  description: string,
  options: readonly [T, ...T[]],
  fallback: T,
): Setting<T> =>
  setting(
    z
      .string()
      .refine((value): value is T => (options as readonly string[]).includes(value), {
        error: `must be one of ${options.join(', ')}`,
      })
      .transform((value) => value as T),
    description,
    fallback,
  );
