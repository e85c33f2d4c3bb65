import { UNIX_MS, UNIX_SECONDS } from '@makerbook/contracts-primitives';
import { z } from 'zod';

type Unit = 'seconds' | 'milliseconds';

const isWhole = (value: unknown, least: number, most: number): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most;

/** The first and the last time that a request may name, in the unit. */
const boundsOf = (unit: Unit): [least: number, most: number] => {
  const { min, max } = unit === 'seconds' ? UNIX_SECONDS : UNIX_MS;
  return [min, max];
};

/** Says what a time must be, and whether the value looks like a time in the other unit. */
function describeTime(value: unknown, unit: Unit, orElse: string): string {
  const other: Unit = unit === 'seconds' ? 'milliseconds' : 'seconds';
  // Do not convert an object: `Number` may throw for one.
  const number = typeof value === 'object' ? Number.NaN : Number(value);
  const looksLike = isWhole(number, ...boundsOf(other)) ? `; this looks like ${other}` : '';
  const [least, most] = boundsOf(unit);
  const years = `from ${least} (2020) to ${most} (2100)`;
  return `must be a whole number: the time in ${unit} since 1970, ${years}${orElse}${looksLike}`;
}

/** A time in a body, as a JSON number. */
export function time(unit: Unit, description: string) {
  const [minimum, maximum] = boundsOf(unit);
  return z
    .custom<number>((value) => isWhole(value, minimum, maximum), {
      error: ({ input }) => describeTime(input, unit, ''),
    })
    .meta({ type: 'integer', description, minimum, maximum, 'x-unit': unit });
}

/** A time in a body, or 0, which turns the feature off. */
export function timeOrOff(unit: Unit, description: string) {
  const [minimum, maximum] = boundsOf(unit);
  return z
    .custom<number>((value) => value === 0 || isWhole(value, minimum, maximum), {
      error: ({ input }) => describeTime(input, unit, ', or 0'),
    })
    .meta({ type: 'integer', description, minimum: 0, maximum, anyOf: [{ const: 0 }, { minimum }], 'x-unit': unit });
}

/** A time in a query or a header: decimal digits. */
export function timeText(unit: Unit, description: string, examples: readonly number[] = []) {
  const [minimum, maximum] = boundsOf(unit);
  const isTime = (text: unknown) =>
    typeof text === 'string' && /^[0-9]{1,15}$/.test(text) && isWhole(Number(text), minimum, maximum);
  return z
    .custom<string>(isTime, { error: ({ input }) => describeTime(input, unit, ', given once') })
    .meta({ type: 'integer', minimum, maximum, 'x-unit': unit, ...(examples.length === 0 ? {} : { examples }) })
    .transform(Number)
    .optional()
    .meta({ description });
}

/** A length of time in a body, in seconds, or 0, which turns the feature off. */
export function secondsOrOff(maximum: number, description: string) {
  return z
    .custom<number>((value) => isWhole(value, 0, maximum), {
      error: `must be a whole number of seconds, from 1 to ${maximum}, or 0`,
    })
    .meta({ type: 'integer', description, minimum: 0, maximum, 'x-unit': 'seconds' });
}
