import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { kafkaSettings } from '../deployment.js';
import { secret, text } from '../settings.js';
import { describeSettings, settingsTable, sharedSettings } from './describe-settings.js';

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');

test('the table has one row for each setting', () => {
  const table = settingsTable({
    BROKERS: text('where'),
    LEVEL: text('how loud', 'info'),
    URL: secret('who', 'postgres://u:p@h/d'),
    PREFIX: text('first', ''),
  });
  expect(table.split('\n').slice(2)).toEqual([
    '| `BROKERS` | required | where |',
    '| `LEVEL` | `info` | how loud |',
    '| `URL` or `URL_FILE` | `postgres://u:p@h/d` | who |',
    '| `PREFIX` | empty | first |',
  ]);
});

test('the README has a section for each shared group with its table, and no other table', () => {
  const [, ...sections] = readme.split('\n## ');
  const tableOf = (section: string) => /\| variable .+\n(?:\|.*\n?)+/.exec(section)?.[0].trimEnd();
  expect(sections.map((section) => [section.split('\n', 1)[0], tableOf(section)])).toEqual(
    Object.entries(sharedSettings).map(([heading, group]) => [heading, settingsTable(group)]),
  );
  expect(readme.match(/\| variable /g)).toHaveLength(sections.length);
});

test('a service links the groups that it takes whole, and describes every other setting itself', () => {
  const { PARTITIONS, ...others } = kafkaSettings;
  const own = text('its own');
  expect(describeSettings({ ...kafkaSettings, OWN: own })).toBe(
    `It takes the shared settings [Kafka](../../shared/settings/README.md#kafka). Its own settings:\n\n${settingsTable({ OWN: own })}`,
  );
  expect(describeSettings({ ...sharedSettings['Postgres'], PARTITIONS })).toContain(settingsTable({ PARTITIONS }));
  expect(describeSettings({ ...kafkaSettings, PARTITIONS: own })).toContain(
    settingsTable({ ...others, PARTITIONS: own })
      .split('\n')
      .at(-1),
  );
  expect(describeSettings({ ...kafkaSettings, PARTITIONS: own })).not.toContain('#kafka');
});
