import { describe, expect, test } from '@jest/globals';
import { describeUnknown, hideKeys, parseWords } from './read-options.js';

describe('words of a command line', () => {
  const options = { seed: { type: 'string' }, quick: { type: 'boolean' } } as const;

  test('are split into options and other words', () => {
    const { values, positionals } = parseWords(['post', '--seed', '7', '--quick'], options);
    expect({ ...values, positionals }).toEqual({ seed: '7', quick: true, positionals: ['post'] });
  });

  test.each([
    ['an unknown option', ['--sed=7'], 'unknown option `--sed`; did you mean `--seed`?'],
    ['one that is like no other', ['--because', 'x'], 'unknown option `--because`'],
    ['one letter', ['-x'], "Unknown option '-x'"],
    ['an option without its value', ['--seed'], 'argument missing'],
  ])('are refused if there is %s', (_what, words, message) => {
    expect(() => parseWords(words, options)).toThrow(message);
  });
});

test.each([
  ['ad', 'add'],
  ['lst', 'list'],
  ['suspned', 'suspend'],
  ['eat', undefined],
  ['', undefined],
])('for the word %j the hint is %j', (word, meant) => {
  const hint = meant === undefined ? '' : `; did you mean \`${meant}\`?`;
  expect(describeUnknown('command', word, ['add', 'suspend', 'list'])).toBe(`unknown command \`${word}\`${hint}`);
});

test.each(['1f'.repeat(32), `${'1f'.repeat(16)}z${'1f'.repeat(15)}`, `0x${'1f'.repeat(31)}1`, `0x${'1f'.repeat(33)}`])(
  'what may be a private key is not shown: %s',
  (key) => {
    expect(hideKeys(`unknown word \`${key}\``)).toMatch(/^unknown word `(0x)?…(z…)?`$/);
  },
);

test('an address is shown', () => {
  const text = `0x${'1f'.repeat(20)} has a wrong checksum`;
  expect(hideKeys(text)).toBe(text);
});
