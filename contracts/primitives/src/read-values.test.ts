import { describe, expect, test } from '@jest/globals';
import {
  readAddress,
  readArray,
  readBearerKey,
  readBytes,
  readExpiry,
  readFields,
  readHex,
  readName,
  readPrivateKey,
  readServiceUrl,
  readToken,
  readUint256,
  readWhole,
  UNIX_MS,
  UNIX_SECONDS,
  WrongValue,
} from './index.js';

const MAX = 2n ** 256n - 1n;

describe('a uint256', () => {
  test.each<[unknown, bigint]>([
    [1_000_000n, 1_000_000n],
    ['1000000', 1_000_000n],
    ['0xF4240', 1_000_000n],
    ['0x00f4240', 1_000_000n],
    ['0', 0n],
    [MAX, MAX],
    [String(MAX), MAX],
    [`0x${'f'.repeat(64)}`, MAX],
  ])('%s is read as %s', (given, value) => {
    expect(readUint256('amount', given)).toBe(value);
  });

  test.each([
    1_000_000,
    2 ** 53,
    1.5,
    Number.NaN,
    -1n,
    MAX + 1n,
    '',
    ' 1',
    '1\n',
    '-1',
    '+1',
    '1.0',
    '1e6',
    '1_000',
    '0x',
    '0X1f',
    'f4240',
    String(MAX + 1n),
    `0x1${'0'.repeat(64)}`,
    undefined,
    null,
    true,
    [],
    ['1'],
    {},
  ])('%p is refused, and the message names the field', (given) => {
    expect(() => readUint256('making.amount', given)).toThrow(/^making\.amount must be a bigint/);
    expect(() => readUint256('making.amount', given)).toThrow(WrongValue);
  });
});

describe('a time', () => {
  test.each([1_700_000_000, 1_700_000_000n, '1700000000', '0x6553f100'])('%s is read as Unix seconds', (given) => {
    expect(readWhole('cancelAt', given, UNIX_SECONDS)).toBe(1_700_000_000);
    expect(readExpiry('expiresAt', given)).toBe(1_700_000_000n);
  });

  test.each([1_700_000_000_000, 30, -1, 0, 1_700_000_000.5, 2 ** 53, '', '30s', undefined])('%p is wrong', (given) => {
    expect(() => readWhole('cancelAt', given, UNIX_SECONDS)).toThrow(/^cancelAt must be Unix seconds, from/);
    if (given !== 2 ** 53) expect(() => readExpiry('expiresAt', given)).toThrow(/^expiresAt must be /);
  });

  test('may be 0 only if the field allows it', () => {
    expect(readWhole('cancelAt', 0, { ...UNIX_SECONDS, orZero: true })).toBe(0);
    expect(() => readWhole('cancelAt', 1, { ...UNIX_SECONDS, orZero: true })).toThrow('or 0');
  });

  test('in milliseconds is not accepted in seconds, nor the reverse', () => {
    expect(readWhole('untilMs', 1_700_000_000_000, UNIX_MS)).toBe(1_700_000_000_000);
    expect(() => readWhole('untilMs', 1_700_000_000, UNIX_MS)).toThrow('untilMs must be milliseconds since 1970');
    expect(() => readExpiry('expiresAt', 1_700_000_000_000)).toThrow(
      'expiresAt must be Unix seconds, and is in milliseconds',
    );
  });

  test('of an order may be far in the future', () => {
    expect(readExpiry('expiresAt', MAX)).toBe(MAX);
  });
});

describe('hex', () => {
  test('is returned in lowercase, and may be empty for bytes', () => {
    expect(readAddress('maker', `0x${'Ab'.repeat(20)}`)).toBe(`0x${'ab'.repeat(20)}`);
    expect(readBytes('data', '0x')).toBe('0x');
  });

  test.each(['0x12', `0x${'1'.repeat(41)}`, `0x${'g'.repeat(40)}`, '1'.repeat(40), 1n, undefined])(
    '%p is neither an address nor a hash',
    (given) => {
      expect(() => readAddress('keys[0]', given)).toThrow(/^keys\[0\] must be 0x and 40 hex digits/);
      expect(() => readHex('orderHash', given, 32)).toThrow(/^orderHash must be 0x and 64 hex digits/);
    },
  );

  test('the zero address is not a token', () => {
    expect(() => readToken('token', `0x${'00'.repeat(20)}`)).toThrow('token must be the address of a token');
  });

  test('must have whole bytes', () => {
    expect(() => readBytes('data', '0x123')).toThrow('data must be');
  });
});

describe('a private key', () => {
  const key = `0x${'1f'.repeat(32)}`;

  test('is returned unchanged', () => {
    expect(readPrivateKey('MAKER_KEY', key)).toBe(key);
  });

  test.each<[string, unknown]>([
    ['one digit less', key.slice(0, -1)],
    ['one digit more', `${key}0`],
    ['a line break', `${key}\n`],
    ['a comma', `${key},`],
    ['no prefix', key.slice(2)],
    ['another letter', key.replace('f', 'g')],
    ['a zero', `0x${'0'.repeat(64)}`],
    ['more than the order of the curve', `0x${'f'.repeat(64)}`],
    ['a number', BigInt(key)],
    ['nothing', undefined],
  ])('with %s is refused, and no part of it is shown', (_what, given) => {
    const refused = () => readPrivateKey('MAKER_KEY', given);
    expect(refused).toThrow('MAKER_KEY is no private key: 0x and 64 hex digits');
    expect(refused).not.toThrow(/1f1f/);
  });

  test('is not shown if it is given for another field', () => {
    for (const read of [readUint256, readAddress, readBytes, readServiceUrl, readArray, readFields, readToken]) {
      expect(() => read('field', `${key}z` as never)).toThrow(/^field /);
      expect(() => read('field', `${key}z` as never)).not.toThrow(/1f1f/);
    }
  });
});

test.each([' a', 'a ', 'a\n', 'a\r\nX: y', '', 'é', undefined])(
  '%p is not the key of a reader, and is not shown',
  (given) => {
    expect(readBearerKey('READER_KEY', 'swift 7f')).toBe('swift 7f');
    expect(() => readBearerKey('READER_KEY', given)).toThrow(/^READER_KEY is no key of a reader: [^é\n]*$/);
  },
);

describe('the URL of a service', () => {
  test.each([
    ['http://127.0.0.1:8080/', 'http://127.0.0.1:8080'],
    ['https://x.example/makers//', 'https://x.example/makers'],
  ])('%s is read as %s', (given, url) => {
    expect(readServiceUrl('MAKERBOOK_URL', given)).toBe(url);
  });

  test.each([
    '127.0.0.1:8080',
    'localhost:8080',
    'x.example',
    '',
    'ftp://x',
    'http://me:secret@x',
    'http://x?a=1',
    'http://x/?',
    'http://x#a',
    'http://x/#',
  ])('%s is refused, and not shown', (given) => {
    expect(() => readServiceUrl('MAKERBOOK_URL', given)).toThrow(/^MAKERBOOK_URL must be a URL that begins with http/);
    expect(() => readServiceUrl('MAKERBOOK_URL', given)).not.toThrow(/secret/);
  });
});

test('a value of the wrong kind is refused, and the message says what it is', () => {
  expect(() => readName('serviceName', '')).toThrow('serviceName must be a text, and is an empty string');
  expect(() => readArray('orders', {} as never)).toThrow('orders must be an array, and is an object');
  expect(() => readFields('order', [] as never)).toThrow('order must be an object, and is an array');
  expect(() => readFields('order', null as never)).toThrow('order must be an object, and is null');
});
