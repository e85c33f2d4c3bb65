import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { deployArtifacts } from '@makerbook/contracts-evm';
import type { Address, Hex } from '@makerbook/contracts-primitives';
import { MaxUint256, Wallet } from 'ethers';
import {
  type AskWallets,
  createStateReader,
  isValidSignature,
  openWallets,
  readBlock,
  SIGNATURE_ACCEPTED,
  type WalletOptions,
} from './index.js';
import { openChain } from './testing/open-chain.js';

const HONEST = 0;
const ANSWERS = { reverts: 1, dirty: 2, short: 3 };
const chain = await openChain();
const opened: { close(): void }[] = [];
afterAll(async () => {
  for (const wallets of opened) wallets.close();
  await chain.stop();
});
const { rpcUrl } = chain.anvil;
const owner = new Wallet(`0x${'42'.repeat(32)}`);
const digest: Hex = `0x${'d1'.repeat(32)}`;
const other: Hex = `0x${'d2'.repeat(32)}`;
const signature = owner.signingKey.sign(digest).serialized as Hex;
const long: Hex = `${signature}${'ab'.repeat(959)}`;
const wallet = await chain.deploy(deployArtifacts.TestWallet, owner.address);
const second = await chain.deploy(deployArtifacts.TestWallet, owner.address);
const answer = (how: number, burnt = 0n) => chain.send(wallet, 'setAnswer', how, burnt);
beforeEach(() => answer(HONEST));

function open(url = rpcUrl, options: Partial<WalletOptions> = {}) {
  const reasons: string[] = [];
  const onAway = (reason: string) => reasons.push(reason);
  const wallets = openWallets({
    urls: [url],
    chainId: 8217,
    timeoutMs: 60_000,
    monotonicMs: () => 0,
    onAway,
    ...options,
  });
  if (wallets === undefined) throw new Error('it has a URL');
  opened.push(wallets);
  return { ask: wallets.ask, reasons };
}
const { ask } = open();
const asker = { client: 'a', isExit: false, charge: async () => undefined };
const askOne = async (how: AskWallets = ask, of: Address = wallet, signed = signature, more = {}) =>
  how([{ wallet: of, digests: [digest], signature: signed }], { ...asker, ...more });

/** A node that counts the calls of contracts. */
async function openCounted() {
  const counted = { calls: 0, charged: 0 };
  const url = await chain.serve(async (body) => {
    counted.calls += body.match(/eth_call/g)?.length ?? 0;
    return chain.forward(body);
  });
  const charge = async (calls: number) => {
    expect(counted.calls).toBe(counted.charged);
    counted.charged += calls;
  };
  return { counted, ask: open(url).ask, asker: { ...asker, charge } };
}

describe('a contract wallet', () => {
  test('accepts signatures of its owner, of any length, for any of the digests', async () => {
    const good = [
      { wallet, digests: [digest], signature },
      { wallet, digests: [other, digest], signature: long },
      ...Array.from({ length: 12 }, () => ({ wallet: second, digests: [digest], signature })),
    ];
    const refused = "the maker's contract does not accept it";
    const failed = "the maker's contract failed, or needed more than 200000 gas";
    expect(await ask(good, asker)).toBe('accepted');
    const bad = { wallet, digests: [other], signature };
    expect(await ask([...good, bad, ...good], asker)).toEqual({ at: 14, fault: refused });
    expect(await ask([{ wallet, digests: [digest], signature: '0x' }, bad], asker)).toEqual({ at: 0, fault: failed });
  });

  test('is asked once for each signature, up to the first refused one, and each call is charged first', async () => {
    const junk = Array.from({ length: 100 }, (_, n) => {
      return { wallet, digests: [digest, other], signature: `${long}${n.toString(16).padStart(2, '0')}` as Hex };
    }).map((question, n) => ({ ...question, digests: n === 0 ? [other] : question.digests }));
    const one = await openCounted();
    expect(await one.ask(junk, one.asker)).toMatchObject({ at: 0 });
    expect(one.counted).toEqual({ calls: 1, charged: 1 });
    const same = await openCounted();
    const repeated = Array.from({ length: 100 }, () => ({ wallet, digests: [digest, other], signature }));
    expect(await same.ask(repeated, same.asker)).toBe('accepted');
    expect(same.counted).toEqual({ calls: 2, charged: 2 });
    const behind = await openCounted();
    const bad = junk.map((question) => ({ ...question, digests: [other] }));
    expect(await behind.ask([...repeated, ...bad], behind.asker)).toMatchObject({ at: 100 });
    expect(behind.counted.calls).toBeLessThanOrEqual(12);
  });

  test('answers 66 questions one after the other, including refused ones', async () => {
    for (let asked = 0; asked < 66; asked += 1) {
      const answer = asked % 2 === 0 ? 'accepted' : { at: 0 };
      const how = asked % 2 === 0 ? signature : long.slice(0, -2);
      const given = asked % 2 === 0 ? digest : other;
      const answered = await ask([{ wallet, digests: [given], signature: how as Hex }], asker);
      expect(answered).toEqual(typeof answer === 'string' ? answer : expect.objectContaining(answer));
    }
  });

  test.each([
    ['is gone over to another owner', () => chain.send(wallet, 'setOwner', second), 'does not accept it'],
    ['reverts', () => answer(ANSWERS.reverts), 'failed, or needed more than 200000 gas'],
    ['burns all its gas', () => answer(HONEST, MaxUint256), 'failed, or needed more than 200000 gas'],
    ['has more in its word than the answer', () => answer(ANSWERS.dirty), 'does not accept it'],
    ['answers less than a word', () => answer(ANSWERS.short), 'does not accept it'],
  ])('that %s counts as a refusal, with the reason', async (_what, change, fault) => {
    await change();
    expect(await askOne()).toEqual({ at: 0, fault: expect.stringContaining(fault) });
    await chain.send(wallet, 'setOwner', owner.address);
  });

  test('that is really an account without code or a precompile counts as a refusal', async () => {
    const none = "no contract at the maker's address answers isValidSignature";
    const stranger = owner.address.toLowerCase() as Address;
    expect(await askOne(ask, stranger)).toEqual({ at: 0, fault: none });
    const undeployed: Hex = `0x${'12'.repeat(96)}${'6492'.repeat(16)}`;
    expect(await askOne(ask, stranger, undeployed)).toEqual({
      at: 0,
      fault: expect.stringContaining('deploy the wallet first'),
    });
    expect(await askOne(ask, wallet, undeployed)).toEqual({ at: 0, fault: expect.not.stringContaining('deploy') });
    const identity: Address = `0x${'4'.padStart(40, '0')}`;
    const fault = "the maker's contract does not accept it";
    expect(await askOne(ask, identity)).toEqual({ at: 0, fault });
  });

  test('that needs all the gas it gets when asked gets as much when its state is read', async () => {
    let [enough, tooMuch] = [0n, 200_000n];
    while (tooMuch - enough > 1000n) {
      const burnt = (enough + tooMuch) / 2n;
      await answer(HONEST, burnt);
      if ((await askOne(ask, wallet, long)) === 'accepted') enough = burnt;
      else tooMuch = burnt;
    }
    expect(enough).toBeGreaterThan(100_000n);
    const multicall = await chain.deploy(deployArtifacts.Multicall3);
    const reader = createStateReader({ node: chain.openNode([rpcUrl]), multicall });
    const calls = [isValidSignature(wallet, digest, long)];
    for (const [burnt, word] of [
      [enough, SIGNATURE_ACCEPTED],
      [tooMuch, undefined],
    ] as const) {
      await answer(HONEST, burnt);
      const block = await readBlock(chain.openNode([rpcUrl]), 'latest');
      expect(await reader.readAlone(block?.hash ?? '0x', calls)).toEqual([word]);
    }
    expect(reader.suspects().size).toBe(0);
  });
});

describe('it is not known', () => {
  test('what a wallet says while the node does not answer, has no time, or is of another chain', async () => {
    const url = await chain.serve(() => undefined);
    const silent = open(url, { timeoutMs: 100 });
    expect(await askOne(silent.ask)).toBe('unknown');
    expect(silent.reasons).toEqual([expect.stringContaining('did not answer')]);
    const busy = await chain.serve(async (body) => {
      const text = (await chain.forward(body)).body;
      const failed = { jsonrpc: '2.0', id: JSON.parse(body).id, error: { code: -32000, message: 'request timed out' } };
      return { status: 200, body: body.includes('eth_call') ? JSON.stringify(failed) : text };
    });
    expect(await askOne(open(busy).ask)).toBe('unknown');
    const elsewhere = open(rpcUrl, { chainId: 1 });
    expect(await askOne(elsewhere.ask)).toBe('unknown');
    expect(elsewhere.reasons).toEqual([expect.stringContaining('CHAIN_ID=1')]);
  });

  test('what a wallet says while too many ask it; other wallets answer, and an exit still has a place', async () => {
    const gate = Promise.withResolvers<void>();
    const url = await chain.serve(async (body) => {
      if (body.includes(wallet.slice(2))) await gate.promise;
      return chain.forward(body);
    });
    const { ask: gated } = open(url);
    const askAs = (client: string, isExit = false) => askOne(gated, wallet, signature, { client, isExit });
    expect(await askOne(gated, second)).toBe('accepted');
    // The requests of one client wait for each other.
    const waiting = Array.from({ length: 8 }, () => askAs('a'));
    expect(await askAs('a')).toBe('unknown');
    const others = Array.from({ length: 6 }, (_, n) => askAs(`b${n}`));
    expect(await askAs('c')).toBe('unknown');
    const exit = askAs('a', true);
    expect(await askAs('c', true)).toBe('unknown');
    expect(await askOne(gated, second, signature, { client: 'd' })).toBe('accepted');
    gate.resolve();
    expect(await Promise.all([...waiting, ...others, exit])).toEqual(Array(15).fill('accepted'));
    expect([await askAs('c'), await askAs('c', true)]).toEqual(['accepted', 'accepted']);
  });
});
