import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';

/** Text of the sources of a package, without tests. */
const sourcesIn = (folder: string): string => {
  const url = new URL(`../../../${folder}/src/`, import.meta.url);
  const files = readdirSync(url, { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.ts') && !file.endsWith('.test.ts') && !file.startsWith('testing'),
  );
  return files.map((file) => readFileSync(new URL(file, url), 'utf8')).join('\n');
};

/** Messages with which errors of these classes are made, with … for each value. */
const messagesOf = (classes: string, sources: string): string[] => {
  const made = [...sources.matchAll(new RegExp(`new (?:${classes})\\(\\s*(?:\`([^\`]*)\`|error\\.message\\b)?`, 'g'))];
  return made.flatMap(([whole, message]) => {
    // The error of deleted records is passed on in its own words.
    if (message === undefined && whole.endsWith('error.message')) return messagesOf('RecordsDeleted', kafka);
    if (message === undefined) throw new Error(`the message is not to be seen: ${whole}`);
    return [message.replace(/\$\{[^}]*\}/g, '…')];
  });
};
const kafka = sourcesIn('shared/kafka');
const messages = messagesOf(
  'ChainContradiction|LogContradiction',
  sourcesIn('services/chain-watcher') + sourcesIn('shared/chain'),
);

/** The messages that the README quotes, as patterns: … and single capitals stand for values. */
const readEntries = (): RegExp[] => {
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
  const section = /\n## When it halts\n([\s\S]*?)\n## /.exec(readme)?.[1] ?? '';
  const heads = section.replaceAll('\n  ', ' ').matchAll(/^- (\*[^*]+\*(?:,? (?:or )?\*[^*]+\*)*)/gm);
  const quoted = [...heads].flatMap(([, head = '']) => [...head.matchAll(/\*([^*]+)\*/g)].map(([, text = '']) => text));
  const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return quoted.map(
    (text) =>
      new RegExp(
        text
          .split(/…|\b[A-Z]\b/)
          .map(escaped)
          .join('.+?'),
      ),
  );
};

test('the README tells what to do about each reason to halt, and about no other', () => {
  const entries = readEntries();
  expect(messages.length).toBeGreaterThan(7);
  expect(messages.filter((message) => !entries.some((entry) => entry.test(message)))).toEqual([]);
  expect(entries.filter((entry) => !messages.some((message) => entry.test(message)))).toEqual([]);
});
