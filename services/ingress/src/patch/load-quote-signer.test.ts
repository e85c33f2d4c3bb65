import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterAll, describe, expect, test } from '@jest/globals';
import { readSettings, SettingsError } from '@makerbook/settings';
import { ingressSettings } from '../env.js';
import { issuer, navigator, serviceKey, serviceSigner } from '../testing/sign-test-quotes.js';
import { loadQuoteSigner } from './load-quote-signer.js';

const folder = mkdtempSync(join(tmpdir(), 'makerbook-key-'));
afterAll(() => rmSync(folder, { recursive: true }));

const load = (environment: Record<string, string>) =>
  loadQuoteSigner(
    readSettings(ingressSettings, {
      KAFKA_BROKERS: 'k:1',
      DATABASE_URL: 'postgres://u:p@h/d',
      REDIS_URL: 'redis://h:1/0',
      SERVICE_NAME: 'Test',
      LIMIT_ORDER_PROTOCOL_ADDRESS: navigator,
      NAVIGATOR_ADDRESS: navigator,
      ...environment,
    }),
  );

function keyFile(name: string, content: string): string {
  const file = join(folder, name);
  writeFileSync(file, content, { mode: 0o600 });
  return file;
}

describe('the quote signer', () => {
  test.each([
    ['the environment', () => ({ QUOTE_SIGNER_KEY: serviceKey })],
    ['a file', () => ({ QUOTE_SIGNER_KEY_FILE: keyFile('key', serviceKey) })],
    ['hex without a prefix', () => ({ QUOTE_SIGNER_KEY: serviceKey.slice(2) })],
  ])('comes from %s', (_, environment) => {
    expect(load(environment())).toMatchObject({ address: serviceSigner });
  });

  test('is accepted along with those that are listed, in any case of hex', () => {
    const signer = load({ QUOTE_SIGNER_KEY: serviceKey, QUOTE_SIGNERS: issuer.toUpperCase().replace('0X', '0x') });
    expect(signer).toMatchObject({ acceptedSigners: new Set([serviceSigner, issuer]) });
  });

  test('is missing without a key or a Navigator, and the missing settings are named', () => {
    expect(load({})).toEqual({ missing: ['QUOTE_SIGNER_KEY'] });
    const zero = `0x${'0'.repeat(40)}`;
    expect(load({ QUOTE_SIGNER_KEY: serviceKey, NAVIGATOR_ADDRESS: zero })).toEqual({ missing: ['NAVIGATOR_ADDRESS'] });
  });

  test('shows its key to nobody who prints it', () => {
    const shown = inspect(load({ QUOTE_SIGNER_KEY: serviceKey }), { depth: 9, showHidden: true });
    expect(shown).not.toContain(serviceKey.slice(2));
    expect(shown).not.toContain('17, 17, 17');
  });
});

describe('settings that cannot be used stop the start, with a message that never shows the key', () => {
  const secret = 'feedface'.repeat(8);
  const mustBeKey = /QUOTE_SIGNER_KEY: must be a key of secp256k1/;
  test.each<[string, () => Record<string, string>, RegExp]>([
    ['a key of 31 bytes', () => ({ QUOTE_SIGNER_KEY: `0x${secret.slice(2)}` }), mustBeKey],
    ['a key that is no hex', () => ({ QUOTE_SIGNER_KEY: `${secret.slice(1)}g` }), mustBeKey],
    ['a key of zero', () => ({ QUOTE_SIGNER_KEY: `0x${'0'.repeat(64)}` }), mustBeKey],
    ['a key above the order', () => ({ QUOTE_SIGNER_KEY: `0x${'f'.repeat(64)}` }), mustBeKey],
    ['a file with something else', () => ({ QUOTE_SIGNER_KEY_FILE: keyFile('no', `key: ${secret}`) }), mustBeKey],
    ['a signer that is no address', () => ({ QUOTE_SIGNERS: '0x12' }), /QUOTE_SIGNERS=0x12: must be/],
    ['the zero address', () => ({ QUOTE_SIGNERS: `0x${'0'.repeat(40)}` }), /zero address/],
  ])('%s', (_, environment, message) => {
    let thrown: unknown;
    try {
      load(environment());
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(SettingsError);
    expect((thrown as Error).message).toMatch(message);
    expect(inspect(thrown)).not.toContain(secret.slice(2, -2));
  });
});
