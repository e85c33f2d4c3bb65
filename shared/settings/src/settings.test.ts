import { describe, expect, test } from '@jest/globals';
import {
  address,
  choice,
  integer,
  list,
  readSettings,
  SettingsError,
  secret,
  settingsTable,
  text,
} from './settings.js';

const spec = {
  BROKERS: list('where'),
  LIMIT_MS: integer('how long', 500, { min: 1, max: 1000 }),
  CONTRACT: address('which', '0x00000000000000000000000000000000000000AA'),
  LEVEL: choice('how loud', ['info', 'warn'], 'info'),
  URL: secret('who', 'postgres://u:p@h/d'),
  PREFIX: text('first', ''),
};

describe('settings', () => {
  test('are typed, with defaults for what is absent or empty', () => {
    expect(readSettings(spec, { BROKERS: 'a:1, b:2,', LIMIT_MS: '' })).toEqual({
      BROKERS: ['a:1', 'b:2'],
      LIMIT_MS: 500,
      CONTRACT: '0x00000000000000000000000000000000000000aa',
      LEVEL: 'info',
      URL: 'postgres://u:p@h/d',
      PREFIX: '',
    });
  });

  test('all that is wrong is named at once, with what it is for', () => {
    const read = () => readSettings(spec, { LIMIT_MS: '1001', CONTRACT: '0x1', LEVEL: 'loud' });
    expect(read).toThrow(SettingsError);
    expect(read).toThrow(
      /BROKERS is missing: where[\s\S]*LIMIT_MS=1001: must be at most 1000[\s\S]*CONTRACT=0x1[\s\S]*LEVEL/,
    );
  });

  test.each(['1.5', '-1', '1e3', 'x', ' 1'])('%s is no whole number', (value) => {
    expect(() => readSettings(spec, { BROKERS: 'a:1', LIMIT_MS: value })).toThrow(/whole number/);
  });

  test('the table has one row for each setting', () => {
    expect(settingsTable(spec).split('\n').slice(2)).toEqual([
      '| `BROKERS` | required | where |',
      '| `LIMIT_MS` | `500` | how long |',
      '| `CONTRACT` | `0x00000000000000000000000000000000000000AA` | which |',
      '| `LEVEL` | `info` | how loud |',
      '| `URL` | `postgres://u:p@h/d` | who |',
      '| `PREFIX` | empty | first |',
    ]);
  });
});
