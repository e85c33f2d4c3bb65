import { beforeEach, describe, expect, test } from '@jest/globals';
import { paths } from '@makerbook/contracts-http';
import { ZERO_ADDRESS } from '@makerbook/contracts-primitives';
import { FILL_CAPS_MAX, noExits } from '@makerbook/domain';
import { isRefusal, type Reply } from '@makerbook/http';
import { key, maker, openRoutes, other, settings, stranger } from './testing/open-routes.js';
import { lower, signExit, tokenA } from './testing/sign-test-orders.js';

describe('a maker’s instruction about all its orders', () => {
  test('is charged once even if it is repeated, and cancel-all costs like a hundred', async () => {
    const { post, seen, held } = openRoutes();
    const spent = async (path: string, body: object) => {
      expect(await post(path, body)).toHaveProperty('body');
      return settings.CANCEL_BUDGET_BURST - (held.makers.get(lower(maker))?.cancels.left ?? 0);
    };
    const all = await signExit('cancelAll', maker, { untilMs: Date.now() });
    const beat = await signExit('heartbeat', maker, { cancelAt: 0 });
    expect([await spent(paths.cancelAll, all), await spent(paths.cancelAll, all)]).toEqual([100, 100]);
    expect([await spent(paths.heartbeat, beat), await spent(paths.heartbeat, beat)]).toEqual([101, 101]);
    expect(seen.appended).toBe(2);
  });

  test('is refused if the budget is spent, its time has passed, or its keys or window exceed a limit', async () => {
    const { post, held } = openRoutes({ own: { CANCEL_BUDGET_PER_SECOND: '2', ORDER_BUDGET_PER_SECOND: '1' } });
    held.set(lower(maker), { cancels: { left: -2, atMs: Date.now() + 3_600_000 } });
    expect(await post(paths.cancelAll, await signExit('cancelAll', maker, { untilMs: Date.now() }))).toMatchObject({
      code: 'rate_limited',
      headers: { 'Retry-After': '51' },
    });
    held.set(lower(maker), { cancels: { left: undefined, atMs: 0 } });
    const passed = await signExit('heartbeat', maker, { cancelAt: Math.floor(Date.now() / 1000) - 60 });
    const wrongAt = (pointer: string) => ({ code: 'invalid_request', errors: [{ pointer }] });
    expect(await post(paths.heartbeat, passed)).toMatchObject(wrongAt('/cancelAt'));
    const six = Array(6).fill(key.address);
    const many = await signExit('cancelKeys', maker, { keys: six });
    expect(await post(paths.cancelKeys, many)).toMatchObject(wrongAt('/keys'));
    const readers = await signExit('cancelKeys', maker, { keys: [], listKeys: six, streamKeys: [], historyKeys: [] });
    expect(await post(paths.cancelKeys, readers)).toMatchObject(wrongAt('/listKeys'));
    const long = await signExit('fillCap', maker, { token: tokenA, amount: '0x1', windowSeconds: 604_801 });
    expect(await post(paths.fillCap, long)).toMatchObject(wrongAt('/windowSeconds'));
  });

  test('may be signed by a cancel key unless it sets keys or a cap, and needs no Postgres', async () => {
    const { post, held } = openRoutes();
    held.isAway = true;
    const ask = async (what: Parameters<typeof signExit>[0], signer = maker) => {
      const terms = {
        cancelAll: { untilMs: Date.now() },
        heartbeat: { cancelAt: 0 },
        cancelKeys: { keys: [] },
        fillCap: { token: tokenA, amount: '0x0A', windowSeconds: 60 },
      };
      const reply = await post(paths[what], await signExit(what, maker, terms[what], signer));
      return isRefusal(reply) ? reply.code : 'taken';
    };
    for (const [what, byKey] of [
      ['cancelAll', 'taken'],
      ['heartbeat', 'taken'],
      ['cancelKeys', 'invalid_signature'],
      ['fillCap', 'invalid_signature'],
    ] as const) {
      expect(await ask(what)).toBe('taken');
      expect(await ask(what, key)).toBe(byKey);
      expect(await ask(what, stranger)).toBe('invalid_signature');
    }
  });
});

describe('a standing instruction', () => {
  const bodyOf = (reply: Reply) => (isRefusal(reply) ? reply.code : JSON.parse(reply.body.toString()));

  test('that names a maker as a cancel key is refused: that maker could not cancel in an outage', async () => {
    const { post, seen } = openRoutes();
    const errors = [{ pointer: '/keys/1', detail: expect.stringContaining('is a maker') }];
    for (const named of [other, maker]) {
      const message = await signExit('cancelKeys', maker, { keys: [stranger.address, named.address] });
      expect(await post(paths.cancelKeys, message)).toMatchObject({ code: 'invalid_request', errors });
    }
    expect(seen.appended).toBe(0);
  });

  test('that names reading keys is signed with all of them, and the answer lists them', async () => {
    const { post, records } = openRoutes();
    const readers = { listKeys: [key.address], streamKeys: [], historyKeys: [] };
    const named: object = await signExit('cancelKeys', maker, { keys: [], ...readers });
    const told = { keys: [], listKeys: [lower(key)], streamKeys: [], historyKeys: [] };
    expect(bodyOf(await post(paths.cancelKeys, named))).toMatchObject({ ...told, counts: told });
    expect(JSON.parse(String(records[0]?.value))).toMatchObject(told);
    const without = (...names: string[]) =>
      Object.fromEntries(Object.entries(named).filter(([name]) => !names.includes(name)));
    // A list that is left out is signed as an empty one. Without all lists another message is signed.
    expect(bodyOf(await post(paths.cancelKeys, without('streamKeys', 'historyKeys')))).toMatchObject(told);
    expect(bodyOf(await post(paths.cancelKeys, without(...Object.keys(readers))))).toBe('invalid_signature');
  });

  test('is answered with what counts from now on, and the log has who signed it', async () => {
    const { post, records, held } = openRoutes();
    held.set(lower(maker), { exits: { ...noExits, cancelKeys: [lower(key)], keysIssuedAtMs: 1 } });
    const beat = await signExit('heartbeat', maker, { cancelAt: 0 }, key);
    const { issuedAtMs } = beat as unknown as { issuedAtMs: number };
    expect(bodyOf(await post(paths.heartbeat, beat))).toEqual({
      ...{ maker: lower(maker), cancelAt: 0, issuedAtMs },
      counts: { cancelAt: 0, issuedAtMs },
    });
    expect(JSON.parse(String(records[0]?.value))).toMatchObject({ cancelAt: 0, issuedAtMs, key: lower(key) });
    const cap = await signExit('fillCap', maker, { token: tokenA, amount: '0x0A', windowSeconds: 60 });
    expect(bodyOf(await post(paths.fillCap, cap))).toMatchObject({ counts: { token: tokenA, amount: '0xa' } });
    expect(held.makers.get(lower(maker))?.instructions).toEqual([
      { subject: 'switch', issuedAtMs, terms: { cancelAt: 0 }, key: lower(key) },
      {
        subject: `cap:${tokenA}`,
        issuedAtMs: expect.any(Number),
        terms: { amount: '0xa', windowSeconds: 60 },
        key: undefined,
      },
    ]);
  });

  test('that a newer one supersedes is refused with what counts, even if it was taken before', async () => {
    const { post, seen, held } = openRoutes();
    const cap = await signExit('fillCap', maker, { token: tokenA, amount: '0x1', windowSeconds: 60 });
    expect(bodyOf(await post(paths.fillCap, cap))).toHaveProperty('counts');
    const issuedAtMs = Date.now() + 60_000;
    const newer = { subject: `cap:${tokenA}`, issuedAtMs, terms: { amount: '0x2', windowSeconds: 5 } };
    held.set(lower(maker), { instructions: [newer] });
    expect(await post(paths.fillCap, cap)).toMatchObject({
      code: 'superseded',
      counts: { token: tokenA, amount: '0x2', windowSeconds: 5, issuedAtMs },
    });
    expect(seen.appended).toBe(1);
  });

  test('is taken while Postgres is down, and what counts is unknown until the rows have it', async () => {
    const given: { isBehind: boolean } = { isBehind: true };
    const { post, held } = openRoutes(given);
    held.isAway = true;
    const counts = async () =>
      bodyOf(await post(paths.heartbeat, await signExit('heartbeat', maker, { cancelAt: 0 }))).counts;
    expect(await counts()).toBeNull();
    held.isAway = false;
    expect(await counts()).toBeNull();
    given.isBehind = false;
    expect(await counts()).toHaveProperty('cancelAt', 0);
  });

  test('is released if the log has certainly not stored it', async () => {
    const { post, held } = openRoutes({ isLogAway: true, mayHaveBeenAppended: false });
    expect(bodyOf(await post(paths.heartbeat, await signExit('heartbeat', maker, { cancelAt: 0 })))).toBe(
      'unavailable',
    );
    expect(held.released).toEqual([[expect.stringMatching(/^0x[0-9a-f]{64}$/)]]);
  });

  test('is refused if its key is unknown, or too many tokens have a cap', async () => {
    const { post, seen, held } = openRoutes();
    expect(await post(paths.heartbeat, await signExit('heartbeat', maker, { cancelAt: 0 }, key))).toMatchObject({
      code: 'unavailable',
    });
    const instructions = Array.from({ length: FILL_CAPS_MAX }, (_, n) => {
      return { subject: `cap:${n}`, issuedAtMs: 1, terms: { amount: '0x1', windowSeconds: 5 } };
    });
    held.set(lower(maker), { instructions });
    const cap = { token: tokenA, amount: '0x1', windowSeconds: 60 };
    const errors = [{ pointer: '/token', detail: expect.stringMatching(/^is one more than the 100 tokens/) }];
    expect(await post(paths.fillCap, await signExit('fillCap', maker, cap))).toMatchObject({
      code: 'invalid_request',
      errors,
    });
    expect(seen.appended).toBe(0);
  });
});

describe('a refusal explains', () => {
  const { clock, post, held } = openRoutes();
  beforeEach(() => {
    clock.nowMs = Date.now();
    held.makers.clear();
  });
  const faultOf = (reply: Reply) =>
    isRefusal(reply) ? `${reply.code}: ${reply.errors?.map(({ pointer, detail }) => `${pointer} ${detail}`)}` : 'taken';

  test('a time in another unit, as text, or too far ahead of the clock', async () => {
    const ahead = (ms: number) => ({ cancelAt: 0, issuedAtMs: Date.now() + ms });
    const ask = async (terms: object) =>
      faultOf(await post(paths.heartbeat, await signExit('heartbeat', maker, terms)));
    expect(await ask(ahead(4_000))).toBe('taken');
    expect(await ask(ahead(7_000))).toMatch(
      'invalid_request: /issuedAtMs must be in milliseconds since 1970, at most 5 s',
    );
    expect(await ask({ cancelAt: Date.now() })).toMatch(/^invalid_request: \/cancelAt .* seconds .* milliseconds$/);
    expect(await ask({ ...ahead(0), issuedAtMs: Math.floor(Date.now() / 1000) })).toMatch(/milliseconds .* seconds$/);
    const body = await signExit('heartbeat', maker, { cancelAt: 0 });
    expect(faultOf(await post(paths.heartbeat, { ...body, cancelAt: 'now' }))).toMatch(
      /^invalid_request: \/cancelAt must/,
    );
  });

  test('a wait that is not a whole number of seconds up to 60', async () => {
    const ask = async (wait: string) =>
      faultOf(await post(paths.heartbeat, await signExit('heartbeat', maker, { cancelAt: 0 }), { prefer: wait }));
    for (const wrong of ['wait=2000', 'receipt, wait=61', 'wait', 'wait="1.5"', 'WAIT = -1; by=router'])
      expect(await ask(wrong)).toBe(
        'invalid_request: /Prefer must have a whole number of seconds as `wait`, from 0 to 60',
      );
    for (const right of ['wait=60', 'wait="0"', 'receipt', 'respond-async, x-await=9999', 'wait=2; by=router, receipt'])
      expect(await ask(right)).toBe('taken');
  });

  test('a cap that is signed by a cancel key', async () => {
    const terms = { token: tokenA, amount: '0x1', windowSeconds: 60 };
    const reply = faultOf(await post(paths.fillCap, await signExit('fillCap', maker, terms, key)));
    expect(reply).toMatch(/^invalid_signature: \/signature .*a key that may only cancel.*the maker has to sign this$/);
  });

  test('a cap of the native coin or of an account without code, unless it is removed', async () => {
    const asked: string[] = [];
    const { post: cap } = openRoutes({
      askCode: async (token) => {
        asked.push(token);
        return token === tokenA ? true : token === lower(stranger) ? false : undefined;
      },
    });
    const faultWith = async (token: string, amount = '0x1') =>
      faultOf(await cap(paths.fillCap, await signExit('fillCap', maker, { token, amount, windowSeconds: 60 })));
    for (const native of [ZERO_ADDRESS, `0x${'E'.repeat(40)}`])
      expect(await faultWith(native)).toMatch('invalid_request: /token stands for the native coin');
    expect(await faultWith(stranger.address)).toMatch('invalid_request: /token is not a contract');
    expect([await faultWith(stranger.address, '0x0'), await faultWith(ZERO_ADDRESS, '0x0')]).toEqual([
      'taken',
      'taken',
    ]);
    expect([await faultWith(tokenA), await faultWith(other.address)]).toEqual(['taken', 'taken']);
    expect(asked).toEqual([lower(stranger), tokenA, lower(other)]);
  });

  test('a signature that is too long', async () => {
    const body = { ...(await signExit('heartbeat', maker, { cancelAt: 0 })), signature: `0x${'ab'.repeat(1040)}` };
    const fault = 'invalid_request: /signature must be hex bytes, at most 1,024 of them';
    expect(faultOf(await post(paths.heartbeat, body))).toBe(fault);
  });
});
