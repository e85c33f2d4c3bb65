import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { keepSigner } from './keep-signer.js';
import { provideContracts } from './provide-contracts.js';
import { inheritedOf, readStackEnvironment } from './stack-env.js';

const key = `0x${'11'.repeat(32)}`;
const address = '0x19e7e376e7c213b7e7e7e46cc70a5dd086daff2a';

const folder = mkdtempSync(join(tmpdir(), 'makerbook-stack-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('the services inherit the environment without the secrets that the stack reads itself', () => {
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

test('addresses are accepted as by the services, in any case and with spaces between them', async () => {
  const elsewhere = { RPC_URL: 'http://node', LIMIT_ORDER_PROTOCOL_ADDRESS: `0x${'Ab'.repeat(20)}` };
  const signers = `0x${'Cd'.repeat(20)}, 0x${'ef'.repeat(20)},`;
  const settings = readStackEnvironment({ ...elsewhere, QUOTE_SIGNERS: signers });
  const { limitOrderProtocol, quoteSigners } = await provideContracts(settings, 'http://node', address);
  expect(limitOrderProtocol).toBe(`0x${'ab'.repeat(20)}`);
  expect(quoteSigners).toEqual([`0x${'cd'.repeat(20)}`, `0x${'ef'.repeat(20)}`]);
  expect((await provideContracts(readStackEnvironment(elsewhere), 'http://node', address)).quoteSigners).toContain(
    address,
  );
});

test.each(['QUOTE_SIGNERS', 'RECEIPT_SIGNERS', 'LIMIT_ORDER_PROTOCOL_ADDRESS'])(
  'a wrong %s is refused before anything starts',
  (name) => {
    expect(() => readStackEnvironment({ [name]: '0x12' })).toThrow(new RegExp(`${name}=0x12: must be .*20-byte hex`));
  },
);

const names = ['QUOTE_SIGNER_KEY', 'RECEIPT_SIGNER_KEY'] as const;

test.each(names)('a given %s is used, also from a file', (name) => {
  const file = join(folder, 'given');
  writeFileSync(file, `${key}\n`);
  for (const environment of [{ [name]: key }, { [`${name}_FILE`]: file }]) {
    const signer = keepSigner(readStackEnvironment(environment), name, folder);
    expect(signer).toEqual({ address, environment: { [name]: key } });
  }
});

test.each(names)(
  'a missing %s is made at the first start, and is kept in a file that only its owner may read',
  (name) => {
    const first = keepSigner(readStackEnvironment({}), name, folder);
    const file = first.environment[`${name}_FILE`] ?? '';
    expect(readFileSync(file, 'utf8')).toMatch(/^0x[0-9a-f]{64}\n$/);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(keepSigner(readStackEnvironment({}), name, folder)).toEqual(first);
    for (const other of names) {
      if (other !== name) expect(keepSigner(readStackEnvironment({}), other, folder).address).not.toBe(first.address);
    }
  },
);

test('a value that is not a key is refused in a sentence that does not show it', () => {
  const settings = readStackEnvironment({ QUOTE_SIGNER_KEY: `${key}f` });
  expect(() => keepSigner(settings, 'QUOTE_SIGNER_KEY', folder)).toThrow(/^QUOTE_SIGNER_KEY holds no private key/);
});
