import type { Hex } from '@makerbook/contracts-primitives';
import { z } from 'zod';

/** One setting of a service: an environment variable, what it may hold, and what it is for. */
export interface Setting<T> {
  readonly schema: z.ZodType<T, string | undefined>;
  /** As it would be in the environment; undefined: the setting must be given. */
  readonly fallback: string | undefined;
  readonly description: string;
  /** The value is a secret or may hold one: it is never printed. */
  readonly secret: boolean;
}

type Spec = Record<string, Setting<unknown>>;

/** The typed values of a spec. */
export type SettingsOf<S extends Spec> = { readonly [K in keyof S]: S[K] extends Setting<infer T> ? T : never };

/** Settings that cannot be used. The message names each variable, what is wrong, and what it is for. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';
}

/**
 * Reads a service's settings once, at its start. An empty variable counts as absent.
 * @throws SettingsError naming every variable that is missing or wrong
 */
export function readSettings<S extends Spec>(spec: S, environment: Record<string, string | undefined>): SettingsOf<S> {
  const values: Record<string, unknown> = {};
  const problems: string[] = [];
  for (const [name, setting] of Object.entries(spec)) {
    const given = environment[name];
    const text = given === undefined || given === '' ? setting.fallback : given;
    if (text === undefined) {
      problems.push(`${name} is missing: ${setting.description}`);
      continue;
    }
    const parsed = setting.schema.safeParse(text);
    if (parsed.success) values[name] = parsed.data;
    else problems.push(`${name}${setting.secret ? '' : `=${text}`}: ${parsed.error.issues[0]?.message ?? 'wrong'}`);
  }
  if (problems.length > 0) throw new SettingsError(`The settings cannot be used:\n  ${problems.join('\n  ')}`);
  return values as SettingsOf<S>;
}

/** The settings as the rows of a README's table: `| variable | default | meaning |`. */
export function settingsTable(spec: Spec): string {
  const rows = Object.entries(spec).map(([name, { fallback, description }]) => {
    const value = fallback === undefined ? 'required' : fallback === '' ? 'empty' : `\`${fallback}\``;
    return `| \`${name}\` | ${value} | ${description} |`;
  });
  return ['| variable | default | meaning |', '|---|---|---|', ...rows].join('\n');
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

/** A URL or a password: never printed. */
export const secret = (description: string, fallback?: string): Setting<string> =>
  setting(z.string(), description, fallback, true);

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

/** One of some words. */
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
