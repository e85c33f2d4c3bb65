import { describe, expect, test } from '@jest/globals';
import { paths } from '@makerbook/contracts-http';
import { isRefusal } from '@makerbook/http';
import { recoverAddress } from 'ethers';
import type { Outside } from '../parts.js';
import { cancelling, contract, key, maker, openIn, openRoutes, owner, stranger } from '../testing/open-routes.js';
import { lower, type SignedOrder, signExit, signOrder } from '../testing/sign-test-orders.js';

describe('a contract wallet', () => {
  const terms = {
    cancelAll: { untilMs: Date.now() },
    heartbeat: { cancelAt: 0 },
    cancelKeys: { keys: [key.address] },
  };
  const lengthened = <T extends { signature: string }>(item: T) => {
    return { ...item, signature: `${item.signature}0badbeef` };
  };
  const sign = async () => lengthened(await signOrder(owner, { maker: contract, salt: '0x5' }));

  function open(isAway = false) {
    const chain = { isAway: false, asked: [] as boolean[] };
    /** The contract accepts what its owner has signed, and does not look at the bytes behind the signature. */
    const askWallets: Outside['askWallets'] = async (questions, { isExit }) => {
      chain.asked.push(isExit);
      if (chain.isAway) return 'unknown';
      const at = questions.findIndex(({ wallet, digests: [digest = ''], signature }) => {
        return wallet !== contract || recoverAddress(digest, signature.slice(0, 132)) !== owner.address;
      });
      return at < 0 ? 'accepted' : { at, fault: 'it does not accept it' };
    };
    const service = openRoutes({ askWallets, cancelKeysOf: () => [lower(key)] });
    const { post, held } = service;
    held.isAway = isAway;
    const openOrder = (order: SignedOrder) => openIn(service, order);
    const outcomeOf = async (path: string, body: unknown) => {
      const reply = await post(path, body);
      return isRefusal(reply) ? reply.code : 'taken';
    };
    const say = async (what: keyof typeof terms, signer = owner) =>
      outcomeOf(paths[what], await signExit(what, owner, { maker: contract, ...terms[what] }, signer));
    return { chain, post, openOrder, outcomeOf, say };
  }

  test('cancels all, sends heartbeats and names keys, which cancel for it without the chain', async () => {
    const { chain, openOrder, outcomeOf, say } = open();
    for (const what of ['cancelAll', 'heartbeat', 'cancelKeys'] as const)
      expect([await say(what, stranger), await say(what)]).toEqual(['invalid_signature', 'taken']);
    const order = await sign();
    const byOwner = lengthened(cancelling(order, owner));
    expect(await outcomeOf(paths.limitOrders, [order])).toBe('taken');
    openOrder(order);
    expect(await outcomeOf(paths.cancellations, [byOwner])).toBe('taken');
    chain.isAway = true;
    expect(await outcomeOf(paths.cancellations, [byOwner])).toBe('unavailable');
    expect(await outcomeOf(paths.cancellations, [cancelling(order, key)])).toBe('taken');
  });

  test('is asked with the exit flag only for cancellations, cancel-all and heartbeats', async () => {
    const { chain, openOrder, outcomeOf, say } = open();
    const order = await sign();
    openOrder(order);
    const byOwner = lengthened(cancelling(order, owner));
    const asked = async (ask: Promise<string>) => [await ask, ...chain.asked.splice(0)];
    expect(await asked(outcomeOf(paths.cancellations, [byOwner]))).toEqual(['taken', true]);
    expect(await asked(say('cancelAll'))).toEqual(['taken', true]);
    expect(await asked(say('heartbeat'))).toEqual(['taken', true]);
    expect(await asked(say('cancelKeys'))).toEqual(['taken', false]);
    const next = lengthened(await signOrder(owner, { maker: contract, salt: '0x6' }));
    expect(await asked(outcomeOf(paths.limitOrders, [next]))).toEqual(['taken', false]);
    const third = lengthened(await signOrder(owner, { maker: contract, salt: '0x7' }));
    const replaced = lengthened(await signOrder(owner, { maker: contract, salt: '0x8' }));
    openOrder(replaced);
    const replacement = { cancel: [lengthened(cancelling(replaced, owner))], place: [third] };
    expect(await asked(outcomeOf(paths.replacements, replacement))).toEqual(['taken', false, false]);
  });

  test('can use cancel-all but cancel no single hash while Postgres is down: a hash names no maker', async () => {
    const { post, say } = open(true);
    const byHash = { ...lengthened(cancelling(await sign(), owner)), salt: '0x5' };
    const detail = expect.stringContaining('cancel-all');
    expect(await post(paths.cancellations, [byHash])).toMatchObject({ code: 'unavailable', detail });
    expect(await say('cancelAll')).toBe('taken');
  });

  test('is unavailable while the chain is down, but other makers and strangers are answered', async () => {
    const { chain, outcomeOf, say } = open();
    const [mine, theirs, foreign] = [await sign(), await signOrder(maker), await signOrder(stranger)];
    chain.isAway = true;
    expect([await outcomeOf(paths.limitOrders, [mine]), await say('heartbeat')]).toEqual(Array(2).fill('unavailable'));
    expect(await outcomeOf(paths.limitOrders, [theirs])).toBe('taken');
    expect(await outcomeOf(paths.limitOrders, [foreign])).toBe('maker_not_whitelisted');
    chain.isAway = false;
    expect(await outcomeOf(paths.limitOrders, [mine])).toBe('taken');
  });
});
