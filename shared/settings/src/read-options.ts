import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';

/** A command line that cannot be understood. The message names the first wrong word. */
export class WrongWords extends Error {
  override readonly name = 'WrongWords';
}

/** @throws WrongWords if an option is unknown, or has no value */
export function parseWords<Options extends ParseArgsOptionsConfig>(words: readonly string[], options: Options) {
  const names = Object.keys(options).map((name) => `--${name}`);
  const given = words
    .filter((word) => word.startsWith('--') && word !== '--')
    .map((word) => word.split('=', 1)[0] ?? '');
  const unknown = given.find((name) => !names.includes(name));
  if (unknown !== undefined) throw new WrongWords(describeUnknown('option', unknown, names));
  try {
    return parseArgs({ args: [...words], options, allowPositionals: true });
  } catch (error) {
    throw new WrongWords((error as Error).message.split('\n')[0]);
  }
}

/** Removes possible private keys from a text: long hex that is no address. */
export const hideKeys = (text: string): string =>
  text.replace(/[0-9a-fA-F]{24,}/g, (digits) => (digits.length === 40 ? digits : '…'));

/** Describes an unknown word, and the known one that it may stand for. */
export function describeUnknown(what: string, word: string, known: readonly string[]): string {
  const [nearest] = known
    .map((name) => ({ name, edits: countEdits(word, name) }))
    .filter(({ edits }) => edits <= (word.length < 4 ? 1 : 2))
    .sort((a, b) => a.edits - b.edits);
  return `unknown ${what} \`${word}\`${nearest === undefined ? '' : `; did you mean \`${nearest.name}\`?`}`;
}

/** Counts how many characters must be added, removed or replaced (Levenshtein). */
function countEdits(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (const [index, character] of [...from].entries()) {
    const next = [index + 1];
    for (let at = 1; at <= to.length; at += 1) {
      const replaced = (row[at - 1] ?? 0) + (to[at - 1] === character ? 0 : 1);
      next.push(Math.min(replaced, (row[at] ?? 0) + 1, (next[at - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}

/**
 * Reads the options of this process and its other words. `--help` prints the usage and exits with 0. For words that
 * cannot be understood, it prints one line and exits with 2.
 */
export function readWords<Options extends ParseArgsOptionsConfig>(usage: string, options: Options) {
  const words = process.argv.slice(2);
  if (words.includes('--help')) {
    console.log(usage);
    process.exit(0);
  }
  try {
    return parseWords(words, options);
  } catch (error) {
    return refuseWords((error as Error).message);
  }
}

/**
 * Reads the options of a process that takes no other word, or at most one name, like `readWords`.
 * @param names that the word may be
 */
export function readOptions<Options extends ParseArgsOptionsConfig>(
  usage: string,
  options: Options,
  names: readonly string[] = [],
) {
  const { values, positionals } = readWords(usage, options);
  const [name, ...more] = positionals;
  const wrong = name === undefined || names.includes(name) ? more[0] : name;
  if (wrong !== undefined) refuseWords(describeUnknown('word', wrong, names));
  return { values, name };
}

/** Prints what is wrong in one line, and ends the process with exit code 2. */
export function refuseWords(wrong: string): never {
  console.error(`${hideKeys(wrong)} (--help shows the usage)`);
  process.exit(2);
}
