import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';

/**
 * Reads a command's options, and a name where it takes one. Prints the usage and ends the process with exit code 2 where
 * they cannot be understood.
 */
export function readOptions<Options extends ParseArgsOptionsConfig>(usage: string, options: Options, hasName = false) {
  try {
    const { values, positionals } = parseArgs({ options, allowPositionals: hasName });
    return { values, name: positionals.length === 1 ? positionals[0] : undefined };
  } catch (error) {
    return endWithUsage(usage, (error as Error).message);
  }
}

/** Reads a whole number from `least` on, or ends the process as `readOptions` does. */
export function readWhole(usage: string, option: string, text: string, least = 0): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(value) && value >= least) return value;
  return endWithUsage(usage, `${option} ${text}: a whole number is needed, ${least} or more`);
}

/** Reads `7` or `1..20` as the numbers in it, or ends the process as `readOptions` does. */
export function readRange(usage: string, option: string, text: string): number[] {
  const [first = '', last = first] = text.split('..');
  const from = readWhole(usage, option, first);
  return Array.from({ length: readWhole(usage, option, last, from) - from + 1 }, (_, index) => from + index);
}

/** Prints the error and the usage, and ends the process with exit code 2. */
export function endWithUsage(usage: string, wrong: string): never {
  console.error(`${wrong}\n${usage}`);
  process.exit(2);
}
