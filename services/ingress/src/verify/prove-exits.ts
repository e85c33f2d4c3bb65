import { bytesToHex } from '@makerbook/contracts-evm';
import type { Address } from '@makerbook/contracts-primitives';
import { isCapOn } from '@makerbook/domain';
import { type ApiRequest, isRefusal, type Refusal, refuseFields, unavailable } from '@makerbook/http';
import { recoverSigner } from '@makerbook/signatures';
import type { Exit, SignedMessage } from '../parse/read-exits.js';
import type { Parts } from '../parts.js';
import { askAbout } from './ask-about.js';

/**
 * Proves who signed a message. Checks the whitelist first, so that a stranger costs only a look-up.
 * @param takesKeys whether a key that may cancel for the maker may sign it
 * @returns the cancel key that signed; no key if the maker or its contract signed
 */
export async function proveSigner(
  { makers, askWallets }: Pick<Parts, 'makers' | 'askWallets'>,
  { maker, digest, signature }: SignedMessage,
  takesKeys: boolean,
  request: ApiRequest,
): Promise<{ readonly key?: Address } | Refusal> {
  if (!makers.isCaughtUp()) return unavailable('the whitelist is still being read');
  if (makers.admissionOf(maker) === 'UNKNOWN') {
    const errors = [{ pointer: '/maker', detail: 'is not on the whitelist' }];
    return { code: 'maker_not_whitelisted', detail: `maker ${maker} is not on the whitelist`, errors };
  }
  const { signer, fault = `it recovers to ${signer}` } = recoverSigner(digest, signature);
  if (signer === maker) return {};
  const key = signer !== undefined && makers.cancelKeysOf(maker).includes(signer) ? signer : undefined;
  if (key !== undefined && takesKeys) return { key };
  const question = { index: 0, fault, wallet: maker, digests: [bytesToHex(digest)], signature };
  const doubt = askWallets === undefined ? question : await askAbout(askWallets, [question], request, takesKeys);
  if (doubt === undefined) return {};
  if (isRefusal(doubt)) return doubt;
  const who = takesKeys ? "the maker's, nor that of a key that may cancel for it" : "the maker's";
  const remedy =
    key === undefined ? '' : ', a key that may only cancel and move the switch: the maker has to sign this';
  const detail = `the signature is not ${who}: ${doubt.fault}${remedy}`;
  return { code: 'invalid_signature', detail, errors: [{ pointer: '/signature', detail }] };
}

/**
 * Refuses a maker as a cancel key. Without the store nobody could tell whose order such a key cancels, and the named
 * maker could not cancel its own orders.
 */
export function refuseKeys({ makers }: Pick<Parts, 'makers'>, fact: Exit['fact']): Refusal | undefined {
  const keys = fact.type === 'CancelKeysSet' ? fact.keys : [];
  const at = keys.findIndex((key) => makers.admissionOf(key) !== 'UNKNOWN');
  return at < 0
    ? undefined
    : refuseFields([{ path: ['keys', at], message: 'is a maker: a maker cannot be a cancel key' }]);
}

/** Refuses a cap on an account without code. While no node answers, takes the cap: it may save funds. */
export async function refuseToken(
  { askCode }: Pick<Parts, 'askCode'>,
  fact: Exit['fact'],
): Promise<Refusal | undefined> {
  if (fact.type !== 'FillCapSet' || !isCapOn(fact) || (await askCode?.(fact.token)) !== false) return undefined;
  return refuseFields([{ path: ['token'], message: 'is not a contract: there is no code at this address' }]);
}
