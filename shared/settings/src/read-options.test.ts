import { describe, expect, test } from '@jest/globals';
import { describeUnknown, parseWords } from './read-options.js';

describe('words of a command line', () => {
  const options = { seed: { type: 'string' }, quick: { type: 'boolean' } } as const;

  test('are options and others', () => {
    const { values, positionals } = parseWords(['post', '--seed', '7', '--quick'], options);
    expect({ ...values, positionals }).toEqual({ seed: '7', quick: true, positionals: ['post'] });
  });

  test.each([
    ['an unknown option', ['--sed=7'], 'unknown option `--sed`; did you mean `--seed`?'],
    ['one that is like no other', ['--because', 'x'], 'unknown option `--because`'],
    ['one letter', ['-x'], "Unknown option '-x'"],
    ['an option without its value', ['--seed'], 'argument missing'],
  ])('are refused where there is %s', (_what, words, message) => {
    expect(() => parseWords(words, options)).toThrow(message);
  });
});

test.each([
  ['ad', 'add'],
  ['lst', 'list'],
  ['suspned', 'suspend'],
  ['eat', undefined],
  ['', undefined],
])('the word %j may have been meant to be %j', (word, meant) => {
  const hint = meant === undefined ? '' : `; did you mean \`${meant}\`?`;
  expect(describeUnknown('command', word, ['add', 'suspend', 'list'])).toBe(`unknown command \`${word}\`${hint}`);
});
