import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PartError } from '@makerbook/parts';
import { Wallet } from 'ethers';
import { given, type StackSettings } from './stack-env.js';

/** Account 9 of anvil's well-known test accounts: demos and tests sign quotes with it. */
export const TEST_QUOTE_SIGNER = '0xa0ee7a142d267c1f36714e4a8f75612f20a79720';

export type Signer = {
  readonly address: string;
  /** The variables that give ingress the key. */
  readonly environment: Readonly<Record<string, string>>;
};

/**
 * Returns a signer of the service. Its key is the configured one, or else one that the first start makes and keeps.
 * @throws PartError if the setting or the file holds no key
 */
export function keepSigner(
  settings: StackSettings,
  name: 'QUOTE_SIGNER_KEY' | 'RECEIPT_SIGNER_KEY',
  folder: string,
): Signer {
  const key = given(settings[name]);
  if (key !== undefined) return { address: addressOf(name, key), environment: { [name]: key } };
  const file = join(folder, name === 'QUOTE_SIGNER_KEY' ? 'quote-signer.key' : 'receipt-signer.key');
  if (!existsSync(file)) writeFileSync(file, `${Wallet.createRandom().privateKey}\n`, { mode: 0o600 });
  return { address: addressOf(file, readFileSync(file, 'utf8')), environment: { [`${name}_FILE`]: file } };
}

function addressOf(source: string, key: string): string {
  try {
    return new Wallet(key.trim()).address.toLowerCase();
  } catch {
    // Leave out the cause: it might quote the key.
    throw new PartError('signer', `${source} holds no private key (0x and 64 hex digits): correct or remove it`);
  }
}
