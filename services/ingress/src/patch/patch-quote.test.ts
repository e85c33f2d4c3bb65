import { describe, expect, test } from '@jest/globals';
import { hexToBytes, type UnsignedSwapCall } from '@makerbook/contracts-evm';
import { problemKinds } from '@makerbook/contracts-http';
import { signDigest } from '@makerbook/signatures';
import fc from 'fast-check';
import {
  hasher,
  issuer,
  issuerKey,
  quoteV0,
  quoteV1,
  readTestQuote,
  serviceKey,
  serviceSigner,
  signTestQuote,
  strangerKey,
} from '../testing/sign-test-quotes.js';
import { createPatchQuote } from './patch-quote.js';

const patch = createPatchQuote({
  hasher,
  acceptedSigners: new Set([issuer, serviceSigner]),
  sign: (digest) => signDigest(digest, hexToBytes(serviceKey)),
});
const now = 1_900_000_000;
const ask = (data: unknown, amount: unknown, at = now) => patch({ data, minOutput: { amount } }, at);
const uint256 = fc.bigInt({ min: 0n, max: 2n ** 256n - 1n });

/** The new calldata, or the code of the refusal. */
function outcome(reply: ReturnType<typeof patch>): string {
  return 'code' in reply ? reply.code : String(reply.body);
}

describe('a patched quote', () => {
  // Only one encoding of each call can be read (`swap-call.test.ts`), so no other byte differs.
  test('has the new minimum and the signature of the service, and differs in nothing else', () => {
    const quotes = fc.constantFrom<UnsignedSwapCall>(quoteV0, quoteV1);
    fc.assert(
      fc.property(quotes, uint256, uint256, fc.constantFrom(issuerKey, serviceKey), (quote, before, after, key) => {
        fc.pre(before !== after);
        const data = signTestQuote({ ...quote, minOutput: before }, key);
        const reply = ask(data, after.toString());
        if ('code' in reply) throw new Error(reply.detail);
        expect(reply.contentType).toMatch(/^text\/plain/);
        const patched = String(reply.body);
        expect(readTestQuote(patched)).toEqual({
          ...readTestQuote(data),
          minOutput: after,
          signature: readTestQuote(patched).signature,
          signer: serviceSigner,
        });
      }),
      { numRuns: 200 },
    );
  });

  test.each([
    ['decimal digits with leading zeros', '000255', 255n],
    ['hex', '0xff', 255n],
    ['hex with leading zeros', `0x${'ff'.padStart(64, '0')}`, 255n],
    ['the largest amount in hex', `0x${'f'.repeat(64)}`, 2n ** 256n - 1n],
  ])('takes an amount of %s', (_, amount, minOutput) => {
    expect(readTestQuote(outcome(ask(signTestQuote(quoteV0), amount))).minOutput).toBe(minOutput);
  });

  test('is made from data in any case of hex, and with any v that the contract takes', () => {
    const data = signTestQuote(quoteV1);
    const expected = outcome(ask(data, '7'));
    expect(outcome(ask(`0x${data.slice(2).toUpperCase()}`, '7'))).toBe(expected);
    const v = data.slice(-64, -62);
    const other = v === '1b' ? '00' : '01';
    expect(outcome(ask(`${data.slice(0, -64)}${other}${data.slice(-62)}`, '7'))).toBe(expected);
  });

  test('is signed at the second of its deadline, and not after', () => {
    const data = signTestQuote({ ...quoteV0, deadline: BigInt(now) });
    expect(outcome(ask(data, '7', now))).toMatch(/^0x/);
    expect(outcome(ask(data, '7', now + 1))).toBe('invalid_date');
  });
});

describe('a refusal', () => {
  const good = signTestQuote(quoteV1);
  const foreign = signTestQuote(quoteV1, strangerKey);
  const bare = signTestQuote({ ...quoteV1, minOutput: undefined });
  const foreignBare = signTestQuote({ ...quoteV1, minOutput: undefined }, strangerKey);

  const codeOf = (reply: ReturnType<typeof patch>) => {
    if (!('code' in reply)) return 'none';
    expect(problemKinds[reply.code].status).toBeLessThan(500);
    expect(JSON.stringify(reply).length).toBeLessThan(2000);
    return reply.code;
  };
  const polluting = JSON.parse(`{"data":"${good}","__proto__":{"minOutput":{"amount":"1"}}}`);

  test.each<[string, unknown, keyof typeof problemKinds]>([
    ['a minOutput that is a list', { data: good, minOutput: ['1'] }, 'invalid_request'],
    ['__proto__ in the body', polluting, 'invalid_request'],
    ['no change', { data: good }, 'no_changes'],
    [
      "a stranger's signature and the same minimum",
      { data: foreign, minOutput: { amount: '1000' } },
      'invalid_signature',
    ],
    ['the same minimum in hex', { data: good, minOutput: { amount: '0x3e8' } }, 'no_changes'],
  ])('of %s', (_, body, code) => {
    expect(codeOf(patch(body, now))).toBe(code);
  });

  test.each<[string, unknown, keyof typeof problemKinds]>([
    ['nothing', '', 'invalid_date'],
    ['a call without its prefix', good.slice(2), 'invalid_date'],
    ['a wide character whose low byte is a digit', `${good.slice(0, -1)}İ`, 'invalid_date'],
    ['a megabyte', `0x${'00'.repeat(500_000)}`, 'invalid_date'],
    ['a call without a minimum that a stranger has signed', foreignBare, 'invalid_signature'],
    ['a call without a minimum', bare, 'field_not_exists'],
  ])('of data that is %s', (_, data, code) => {
    expect(codeOf(ask(data, '1'))).toBe(code);
  });

  test.each<[string, unknown]>([
    ['a number', 5],
    ['a prefix alone', '0x'],
    ['a fraction', '1.5'],
    ['digits before a newline', '1\n'],
    ['Arabic digits', '٣'],
    ['hex without a prefix', 'ff'],
    ['33 bytes of hex', `0x${'0'.repeat(65)}1`],
    ['a million digits', '9'.repeat(1_000_000)],
  ])('of an amount that is %s', (_, amount) => {
    const reply = ask(good, amount);
    expect(reply).toMatchObject({ code: 'invalid_request', errors: [{ pointer: '/minOutput/amount' }] });
  });

  test.each<[string, unknown, string, string]>([
    ['no object', [], '', 'the body must be an object'],
    ['no data', {}, '/data', '/data must be a hex string'],
    ['a bare amount', { data: '', minOutput: '5' }, '/minOutput', '/minOutput must be an object with `amount`'],
    ['an unknown field', { data: '', slippage: 1 }, '/slippage', '/slippage is not a field of the request'],
    [
      'an unknown field within',
      { data: '', minOutput: { amount: '1', 'a/b~': 1 } },
      '/minOutput/a~1b~0',
      '/minOutput/a~1b~0 is not a field of the request',
    ],
    [
      'an amount that is a number',
      { data: '', minOutput: { amount: 5 } },
      '/minOutput/amount',
      '/minOutput/amount must be a string: hex of at most 32 bytes such as "0x1f", or a whole number such as "31", below 2^256',
    ],
  ])('of a body with %s names the place', (_, body, pointer, detail) => {
    expect(patch(body, now)).toMatchObject({ code: 'invalid_request', detail, errors: [{ pointer }] });
  });

  test('of a body with a hundred thousand fields names only twenty', () => {
    const body = Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`f${index}/~`, 0]));
    expect(patch(body, now)).toMatchObject({
      code: 'invalid_request',
      errors: { length: 20, 1: { pointer: '/f0~1~0' } },
    });
  });

  test('is the only answer to data with any one byte changed', () => {
    const bytes = good.slice(2).length / 2;
    const v = bytes - 32;
    fc.assert(
      fc.property(fc.nat(bytes - 1), fc.integer({ min: 1, max: 255 }), (at, flip) => {
        const byte = Number.parseInt(good.slice(2 + at * 2, 4 + at * 2), 16) ^ flip;
        // The other encoding of the same parity is the same signature.
        fc.pre(at !== v || byte > 1);
        const data = `${good.slice(0, 2 + at * 2)}${byte.toString(16).padStart(2, '0')}${good.slice(4 + at * 2)}`;
        expect(['invalid_date', 'invalid_signature']).toContain(outcome(ask(data, '7')));
      }),
      { numRuns: 500 },
    );
  });
});
