import { createStructHasher, receiptTypes } from '@makerbook/contracts-evm';
import type { Hex } from '@makerbook/contracts-primitives';
import { SettingsError, signingDomain } from '@makerbook/settings';
import type { IngressSettings } from '../env.js';
import { loadSigner } from './load-signer.js';

/** What an answer says was stored. Each hash is in the list of what was done with it. */
export interface Acknowledged {
  readonly placed?: readonly Hex[];
  readonly cancelled?: readonly Hex[];
  /** Digests of messages about all orders. */
  readonly messages?: readonly Hex[];
}

/** Signs what was stored, and where in the log: 65 bytes of hex. */
export type SignReceipt = (acknowledged: Acknowledged, position: string) => Hex;

/** Creates the signer. @returns undefined without a key. @throws SettingsError if `/info` would not name its address */
export function createReceiptSigner(settings: IngressSettings): SignReceipt | undefined {
  const signer = loadSigner(settings.RECEIPT_SIGNER_KEY);
  if (signer === undefined) return undefined;
  if (!settings.RECEIPT_SIGNERS.includes(signer.address)) {
    throw new SettingsError(`RECEIPT_SIGNERS lacks ${signer.address}, the address of RECEIPT_SIGNER_KEY: add it`);
  }
  const hash = createStructHasher(signingDomain(settings), receiptTypes);
  return ({ placed = [], cancelled = [], messages = [] }, position) =>
    signer.sign(hash({ placed, cancelled, messages, position }));
}
