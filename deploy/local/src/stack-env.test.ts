import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { keepQuoteSigner } from './keep-quote-signer.js';
import { inheritedOf, readStackEnvironment } from './stack-env.js';

const key = `0x${'11'.repeat(32)}`;
const address = '0x19e7e376e7c213b7e7e7e46cc70a5dd086daff2a';

const folder = mkdtempSync(join(tmpdir(), 'makerbook-stack-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('the services inherit the environment, but for secrets, which they get from the stack once', () => {
  const given = {
    KAFKA_SASL_PASSWORD_FILE: '/kafka',
    DATABASE_URL_FILE: '/database',
    RPC_URL: 'https://node',
    QUOTE_SIGNER_KEY_FILE: '/key',
    npm_config_cache: '/cache',
    OPS_PORT: '1',
    CHAIN_ID: '1001',
  };
  expect(inheritedOf(given)).toEqual({ KAFKA_SASL_PASSWORD_FILE: '/kafka', CHAIN_ID: '1001' });
});

test('a quote-signer key that is given is used, from a file too', () => {
  const file = join(folder, 'given');
  writeFileSync(file, `${key}\n`);
  for (const environment of [{ QUOTE_SIGNER_KEY: key }, { QUOTE_SIGNER_KEY_FILE: file }]) {
    const signer = keepQuoteSigner(readStackEnvironment(environment), folder);
    expect(signer).toEqual({ address, environment: { QUOTE_SIGNER_KEY: key } });
  }
});

test('one that is not is made at the first start, and kept in a file that its owner alone may read', () => {
  const first = keepQuoteSigner(readStackEnvironment({}), folder);
  const file = first.environment.QUOTE_SIGNER_KEY_FILE ?? '';
  expect(readFileSync(file, 'utf8')).toMatch(/^0x[0-9a-f]{64}\n$/);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(keepQuoteSigner(readStackEnvironment({}), folder)).toEqual(first);
});

test('what is no key is refused, in a sentence that does not hold it', () => {
  const settings = readStackEnvironment({ QUOTE_SIGNER_KEY: `${key}f` });
  expect(() => keepQuoteSigner(settings, folder)).toThrow(/^QUOTE_SIGNER_KEY holds no private key/);
});
