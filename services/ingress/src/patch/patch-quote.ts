import {
  bytesToHex,
  decodeSwapCall,
  encodeSwapCall,
  isSwapCallRefusal,
  SWAP_CALL_MAX_BYTES,
  type SwapCall,
  type SwapCallHasher,
  type SwapCallRefusal,
} from '@makerbook/contracts-evm';
import { quotePatchInput } from '@makerbook/contracts-http';
import type { Address, Hex } from '@makerbook/contracts-primitives';
import { isRefusal, okText, parseAs, type Refusal, type Reply } from '@makerbook/http';
import { recoverSigner } from '@makerbook/signatures';

const DATA_CHARACTERS_MAX = 2 + 2 * SWAP_CALL_MAX_BYTES;
const HEX_BYTES = /^0x(?:[0-9a-fA-F]{2})*$/;

export interface PatchQuoteParts {
  readonly hasher: Pick<SwapCallHasher, 'hashSwapCall'>;
  /** Addresses whose signatures are accepted. Several allow a rotation of keys without a gap. */
  readonly acceptedSigners: ReadonlySet<Address>;
  /** Signs a 32-byte digest with the service's own quote-signer key: 65 bytes r ‖ s ‖ v. */
  readonly sign: (digest: Uint8Array) => Hex;
}

/**
 * PATCH /v0/quote/data: writes another guaranteed minimum into the calldata of a quote's swap call and signs it anew;
 * every other byte stays. In this order: shape (`invalid_request`), no change asked for (`no_changes`), data that the
 * Navigator would not take, past its deadline too (`invalid_date`), a signature that no accepted signer made
 * (`invalid_signature`), no minimum in the data (`field_not_exists`), the same minimum (`no_changes`). A patched call
 * is signed by the service's own key, whichever accepted signer signed it before. It uses the CPU alone and stores
 * nothing.
 */
export function createPatchQuote({ hasher, acceptedSigners, sign }: PatchQuoteParts) {
  return (body: unknown, nowSeconds: number): Reply => {
    const asked = parseAs(quotePatchInput, body);
    if (isRefusal(asked)) return asked;
    if (asked.minOutput === undefined) {
      return { code: 'no_changes', detail: 'there is no `minOutput`: nothing was to be changed' };
    }
    const minOutput = BigInt(asked.minOutput.amount);

    const call = readCall(asked.data);
    if (isRefusal(call)) return call;
    if (call.deadline < BigInt(nowSeconds))
      return refuseData(`its deadline ${call.deadline} has passed: get a new quote`);

    const { signer, fault } = recoverSigner(hasher.hashSwapCall(call), call.signature);
    if (signer === undefined) return refuseSignature(fault);
    if (!acceptedSigners.has(signer)) return refuseSignature(`it recovers to ${signer}, which is no quote signer here`);

    if (call.minOutput === undefined) {
      const detail = 'the data holds no minimum output: ask for a quote with a slippage assertion';
      return { code: 'field_not_exists', detail };
    }
    if (call.minOutput === minOutput) {
      return { code: 'no_changes', detail: `the minimum output is ${call.minOutput} already` };
    }
    const patched = { ...call, minOutput };
    const bytes = encodeSwapCall({ ...patched, signature: sign(hasher.hashSwapCall(patched)) });
    return okText(bytesToHex(bytes));
  };
}

function readCall(data: string): SwapCall | Refusal {
  if (data.length > DATA_CHARACTERS_MAX) return refuseData(describeRefusal({ code: 'too_long' }));
  // Checked by the pattern and decoded by Node: a tenth of the time of a decoder that checks each character.
  if (!HEX_BYTES.test(data)) return refuseData('it is no 0x-prefixed hex string of whole bytes');
  const call = decodeSwapCall(Buffer.from(data.slice(2), 'hex'));
  return isSwapCallRefusal(call) ? refuseData(describeRefusal(call)) : call;
}

function describeRefusal({ code }: SwapCallRefusal): string {
  switch (code) {
    case 'too_short':
      return 'it is too short for a swap call';
    case 'too_long':
      return `it is longer than ${SWAP_CALL_MAX_BYTES} bytes, the longest swap call`;
    case 'unknown_selector':
      return 'its first four bytes call no swap of the Navigator';
    case 'not_canonical':
      return 'it is not laid out as the quote gave it: take `quote.tx.data` whole and unchanged';
  }
}

function refuseData(why: string): Refusal {
  const detail = `the data is no swap call that can be patched: ${why}`;
  return { code: 'invalid_date', detail, errors: [{ pointer: '/data', detail: why }] };
}

function refuseSignature(why: string): Refusal {
  const detail = `the signature within the data is not a quote signer's: ${why}`;
  return { code: 'invalid_signature', detail, errors: [{ pointer: '/data', detail: why }] };
}
