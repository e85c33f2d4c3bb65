import { describe, expect, test } from '@jest/globals';
import {
  address,
  choice,
  credential,
  integer,
  list,
  origins,
  privateKey,
  readSettings,
  SettingsError,
  secret,
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

  test('that are wrong are all named at once, with their purpose', () => {
    const read = () => readSettings(spec, { LIMIT_MS: '1001', CONTRACT: '0x1', LEVEL: 'loud' });
    expect(read).toThrow(SettingsError);
    expect(read).toThrow(
      /BROKERS is missing: where[\s\S]*LIMIT_MS=1001: must be at most 1000[\s\S]*CONTRACT=0x1[\s\S]*LEVEL/,
    );
  });

  test('a value that may be a key is not shown, whichever variable has it', () => {
    const read = () => readSettings(spec, { BROKERS: 'a:1', CONTRACT: `0x${'1f'.repeat(32)}` });
    expect(read).toThrow('CONTRACT=0x…: must be');
    expect(read).not.toThrow(/1f1f/);
  });

  test.each(['1.5', '-1', '1e3', 'x', ' 1'])('%s is not a whole number', (value) => {
    expect(() => readSettings(spec, { BROKERS: 'a:1', LIMIT_MS: value })).toThrow(/whole number/);
  });
});

describe('origins', () => {
  const read = (CORS_ORIGINS: string) => readSettings({ CORS_ORIGINS: origins('who may call') }, { CORS_ORIGINS });

  test('are none, any, or a list', () => {
    expect(read('').CORS_ORIGINS).toEqual([]);
    expect(read('*').CORS_ORIGINS).toEqual(['*']);
    expect(read('https://a.example, http://localhost:3000').CORS_ORIGINS).toEqual([
      'https://a.example',
      'http://localhost:3000',
    ]);
  });

  test.each(['https://a.example/', 'a.example', 'https://a.example,nothing'])('%s is refused', (value) => {
    expect(() => read(value)).toThrow('CORS_ORIGINS');
  });
});

describe('a secret', () => {
  const secrets = { KEY: secret('opens'), TOKEN: credential('lets in', ''), SHOWN: text('is no secret', '') };
  const files = new Map<string, string>();
  const readFile = (path: string) => {
    const content = files.get(path);
    if (content === undefined) throw Object.assign(new Error('there is none'), { code: 'ENOENT' });
    return content;
  };
  const read = (environment: Record<string, string>) => readSettings(secrets, environment, readFile);

  test('is given directly or in a file', () => {
    files.set('/key', ' one\n');
    expect(read({ KEY: 'two' }).KEY).toBe('two');
    expect(read({ KEY_FILE: '/key' }).KEY).toBe('one');
    expect(read({ KEY: '', KEY_FILE: '/key' }).KEY).toBe('one');
  });

  test('is refused if both are given, or if the file is missing or empty', () => {
    files.set('/empty', '\n');
    expect(() => read({ KEY: 'two', KEY_FILE: '/key' })).toThrow('KEY and KEY_FILE are both given: give one');
    expect(() => read({ KEY_FILE: '/none' })).toThrow('KEY_FILE=/none cannot be read: ENOENT');
    expect(() => read({ KEY_FILE: '/empty', TOKEN_FILE: '/none' })).toThrow(
      /KEY_FILE=\/empty is empty[\s\S]*TOKEN_FILE/,
    );
  });

  test('that is a private key is checked, and not shown', () => {
    const keys = { DEPLOYER_KEY: privateKey('pays', '') };
    const readKey = (DEPLOYER_KEY: string) => readSettings(keys, { DEPLOYER_KEY }).DEPLOYER_KEY;
    const key = '1f'.repeat(32);
    expect(['', `0x${key}\n`, key].map(readKey)).toEqual(['', `0x${key}`, key]);
    for (const wrong of [key.slice(1), `${key},`, `0x${'0'.repeat(64)}`]) {
      expect(() => readKey(wrong)).toThrow('DEPLOYER_KEY: must be a private key: 0x and 64 hex digits');
      expect(() => readKey(wrong)).not.toThrow(/1f1f/);
    }
  });

  test('is the only setting that is read from a file', () => {
    expect(read({ KEY: 'two', SHOWN_FILE: '/none' }).SHOWN).toBe('');
  });

  test('for connections is read again each time, and kept while its file is being replaced', () => {
    files.set('/token', 'first');
    const { TOKEN } = read({ KEY: 'two', TOKEN_FILE: '/token' });
    files.set('/token', 'second');
    expect(TOKEN()).toBe('second');
    files.set('/token', '');
    expect(TOKEN()).toBe('second');
    files.delete('/token');
    expect(TOKEN()).toBe('second');
    expect(read({ KEY: 'two', TOKEN: 'third' }).TOKEN()).toBe('third');
    expect(read({ KEY: 'two' }).TOKEN()).toBe('');
  });
});
