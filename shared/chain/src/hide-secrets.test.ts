import { describe, expect, test } from '@jest/globals';
import { hideSecretsOf } from './hide-secrets.js';

describe('what a URL holds beside its host', () => {
  const hide = hideSecretsOf(
    new URL('https://user%40x:p%40ss-word@node.example:8551/v2/0123456789abcdef?apikey=s3cret-key'),
  );

  test.each([
    ['Cannot POST /v2/0123456789abcdef', 'Cannot POST …'],
    ['no project 0123456789abcdef here', 'no project … here'],
    ['POST /v2/0123456789abcdef?apikey=s3cret-key: 404', 'POST ……: 404'],
    ['the key s3cret-key is not valid', 'the key … is not valid'],
    ['user@x may not, with p@ss-word', '… may not, with …'],
    ['user%40x:p%40ss-word', '…:…'],
    ['header not found', 'header not found'],
  ])('is left out of "%s"', (text, hidden) => {
    expect(hide(text)).toBe(hidden);
  });

  test('is nothing if the URL has only a host', () => {
    expect(hideSecretsOf(new URL('http://127.0.0.1:8551'))('POST / at 127.0.0.1:8551')).toBe(
      'POST / at 127.0.0.1:8551',
    );
  });
});
