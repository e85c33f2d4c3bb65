import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { describe, expect, test } from '@jest/globals';
import { orderTypes, typedDataDomain } from '@makerbook/contracts-evm/typed-data';
import { paths } from '@makerbook/contracts-http/paths';
import { verifyTypedData, Wallet } from 'ethers';
import { type AskedRequest, answer, CONTRACT, fakeService, refuse } from '../testing/fake-service.js';
import { runCommand } from './run-command.js';

const KEY = `0x${'1f'.repeat(32)}`;
const MAKER = new Wallet(KEY).address.toLowerCase();
const NOW_MS = 1_700_000_000_000;
const [SELL, BUY, HASH] = [`0x${'ab'.repeat(20)}`, `0x${'cd'.repeat(20)}`, `0x${'4e'.repeat(32)}`];
const TERMS = `--making ${SELL}:1000000 --taking ${BUY}:0xf4240`;
const record = { orderHash: HASH, order: { salt: '0x7', expiresAt: '0x6b0b1046' }, signature: '0x', status: 'ACTIVE' };

type Handle = (request: AskedRequest) => Response;
const handleAll: Handle = ({ method, path, body }) => {
  if (path === paths.limitOrders) return answer(method === 'GET' ? [record] : body);
  if (path === paths.cancellations) return answer([{ orderHash: HASH, status: 'CANCELLED' }]);
  if (path === paths.history) return answer({ entries: [{ happened: 'FILLED' }], nextCursor: '9', hasMore: false });
  if (path === paths.stream)
    return answer('id: 5\nevent: snapshot\ndata: {"orders":[]}\n\nevent: end\ndata: {"reason":"gone"}\n\n');
  if (path === paths.quoteData) return answer('0x12');
  return answer(body ?? { ...record, timeline: [] });
};

async function run(words: string, { handle = handleAll, environment = {} as Record<string, string | undefined> } = {}) {
  const [printed, complaints]: [string[], string[]] = [[], []];
  const { fetch, asked } = fakeService(() => NOW_MS, handle);
  const exitCode = await runCommand(words.split(' ').filter(Boolean), {
    environment: { MAKER_KEY: KEY, MAKERBOOK_URL: 'http://x', ...environment },
    print: (line) => void printed.push(line),
    complain: (line) => void complaints.push(line),
    version: '1.2.3',
    fetch,
  });
  const complaint = complaints.length === 1 ? JSON.parse(complaints[0] ?? '') : complaints;
  return { exitCode, printed, complaint, complaints, asked, sent: asked.filter(({ path }) => path !== paths.info) };
}

describe('a command', () => {
  test.each([
    ['info', undefined],
    ['list', `GET ${paths.limitOrders}`],
    [`list --salt 7 --making ${SELL} --status ACTIVE`, `GET ${paths.limitOrders}`],
    ['account', `GET ${paths.account}`],
    [`order ${HASH}`, `GET ${paths.limitOrders}/${HASH}`],
    [`order ${HASH} --at 3:17`, `GET ${paths.limitOrders}/${HASH}`],
    [`sign ${TERMS}`, undefined],
    [`place ${TERMS}`, `POST ${paths.limitOrders}`],
    [`place ${TERMS} --expires 2030-12-31T23:59:59Z`, `POST ${paths.limitOrders}`],
    [`replace ${HASH} ${TERMS} --expires 5m`, `POST ${paths.replacements}`],
    [`replace ${HASH} ${TERMS} --remaining 7`, `POST ${paths.replacements}`],
    [`cancel ${HASH}`, `POST ${paths.cancellations}`],
    ['cancel --salt 7', `POST ${paths.cancellations}`],
    [`place ${TERMS} --salt 7`, `POST ${paths.limitOrders}`],
    [`replace ${TERMS} --salt 7 --remaining 5`, `POST ${paths.replacements}`],
    [`cancel-all --making ${SELL}`, `POST ${paths.cancelAll}`],
    ['heartbeat 30s', `POST ${paths.heartbeat}`],
    ['heartbeat off', `POST ${paths.heartbeat}`],
    [`keys ${BUY}`, `POST ${paths.cancelKeys}`],
    [`keys ${BUY} --list ${SELL},${BUY} --history ${SELL}`, `POST ${paths.cancelKeys}`],
    ['keys none', `POST ${paths.cancelKeys}`],
    [`cap --making ${SELL}:7 --window 60s`, `POST ${paths.fillCap}`],
    [`cap --making ${SELL}:0`, `POST ${paths.fillCap}`],
    ['history --happened FILLED --salt 7 --from 24h --cursor 7', `GET ${paths.history}`],
    ['patch-quote --data 0x12 --min-output 5', `PATCH ${paths.quoteData}`],
  ])('%s sends its request, and prints JSON', async (words, request) => {
    const { exitCode, printed, complaints, sent } = await run(words);
    expect(complaints).toEqual([]);
    expect(exitCode).toBe(0);
    expect(sent.map(({ method, path }) => `${method} ${path}`).at(-1)).toBe(request);
    expect(printed.map((line) => JSON.parse(line)).length).toBeGreaterThan(0);
  });

  test('prints each event of a stream until it is refused', async () => {
    let streams = 0;
    const handle: Handle = (request) => (++streams > 1 ? refuse('maker_not_whitelisted') : handleAll(request));
    const { printed, exitCode, complaint } = await run('stream', { handle });
    expect(printed.map((line) => JSON.parse(line))).toEqual([{ orders: [], event: 'snapshot', id: '5' }]);
    expect([exitCode, complaint.code]).toEqual([1, 'maker_not_whitelisted']);
  });

  test('signs amounts by their value, to expire in an hour by the service’s clock', async () => {
    const { printed } = await run(`sign ${TERMS}`);
    const { order, signature } = JSON.parse(printed[0] ?? '');
    expect([order.making.amount, order.taking.amount]).toEqual(['0xf4240', '0xf4240']);
    expect(Number(order.expiresAt)).toBe(NOW_MS / 1000 + 3_600);
    const domain = typedDataDomain({
      serviceName: 'Test',
      chainId: 8217,
      verifyingContract: CONTRACT as `0x${string}`,
    });
    expect(verifyTypedData(domain, orderTypes, order, signature).toLowerCase()).toBe(MAKER);
  });

  test.each([
    ['--expires 30s', 30],
    ['--expires 15m', 900],
    ['--expires 7d', 604_800],
    ['--expires 2023-11-14T22:14:20Z', 60],
    ['--expires 2023-11-15T00:14:20.000+02:00', 60],
  ])('takes %s', async (words, seconds) => {
    const { printed } = await run(`sign ${TERMS} ${words}`);
    expect(Number(JSON.parse(printed[0] ?? '').order.expiresAt)).toBe(NOW_MS / 1000 + seconds);
  });

  test('by a cancel key names the maker, and needs no list if salts are given', async () => {
    const { sent, complaints } = await run(`cancel-all --maker ${BUY}`);
    expect(complaints).toEqual([]);
    // `untilMs` comes from a running clock, so its value varies.
    expect(sent[0]?.body).toMatchObject({ maker: BUY, untilMs: expect.any(Number) });
    const cancelled = await run(`cancel ${HASH}:7`);
    expect(cancelled.sent.map(({ path }) => path)).toEqual([paths.cancellations]);
    expect(cancelled.sent[0]?.body).toMatchObject([{ orderHash: HASH, salt: '0x7' }]);
    const listed = await run(`cancel ${HASH}`);
    expect(listed.sent.at(-1)?.body).toMatchObject([{ orderHash: HASH, ...record.order }]);
  });

  test('prints the version and all commands', async () => {
    expect(await run('--version')).toMatchObject({ exitCode: 0, printed: ['1.2.3'], asked: [] });
    expect((await run('--help')).printed[0]).toContain('heartbeat 30s | off');
  });

  test('needs no key if nothing is signed', async () => {
    const environment = { MAKER_KEY: undefined };
    expect((await run('info', { environment })).exitCode).toBe(0);
    expect((await run('patch-quote --data 0x12 --min-output 5', { environment })).printed).toEqual(['"0x12"']);
  });

  test('judges a bot that has sent nothing', async () => {
    const port = await freePort();
    const { exitCode, printed, complaint } = await run(`bad-network --for 1s --port ${port}`);
    expect(JSON.parse(printed[0] ?? '')).toMatchObject({
      url: `http://127.0.0.1:${port}`,
      service: 'http://x',
      seed: 1,
    });
    const passed = printed.slice(3).map((line) => [JSON.parse(line).check, JSON.parse(line).passed]);
    expect(passed).toEqual([
      ['knows_every_order', true],
      ['knows_every_end', true],
      ['signs_reads_anew', true],
      ['goes_on', true],
    ]);
    expect([exitCode, complaint]).toEqual([0, []]);
  });

  test('needs a free port', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    const { exitCode, complaint } = await run(`bad-network --for 1s --port ${port}`).finally(() => taken.close());
    expect([exitCode, complaint.detail]).toEqual([2, expect.stringMatching(/^--port must be a free port/)]);
  });
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** Expects one line that names what is wrong, before anything is sent. */
async function expectWrongWords(words: string, detail: string | RegExp, environment = {}) {
  const { exitCode, complaint, printed, asked } = await run(words, { environment });
  expect(complaint).toMatchObject({ code: 'wrong_words', detail: expect.stringMatching(detail) });
  expect({ exitCode, printed, asked }).toEqual({ exitCode: 2, printed: [], asked: [] });
}

describe('wrong words', () => {
  test.each([
    ['', 'no command'],
    ['lsit', 'unknown command `lsit`'],
    ['toString', 'unknown command `toString`'],
    ['list now', 'list takes no `now`'],
    ['list --window 60s', 'list takes no --window'],
    ['cancel --all', "Unknown option '--all'"],
    ['place --making', '--making'],
    ['place', '--making must be TOKEN:AMOUNT'],
    ['place --making 7', '--making must be TOKEN:AMOUNT'],
    [`place --making ${SELL}:1.5 --taking ${BUY}:1`, 'the amount of --making must be a bigint'],
    [`place --making ${SELL}: --taking ${BUY}:1`, 'the amount of --making must be'],
    [`place --making ${SELL}:0 --taking ${BUY}:1`, 'above zero'],
    [`place --making ${SELL}:1 --taking 0x12:1`, 'the token of --taking must be 0x and 40 hex digits'],
    [
      `place --making ${SELL}:1 --taking 0x${'00'.repeat(20)}:1`,
      'the token of --taking must be the address of a token',
    ],
    [`place --making ${SELL}:1 --taking ${SELL}:1`, 'two different tokens'],
    [`place ${TERMS} --nonce x`, '--nonce must be'],
    [`place ${TERMS} --expires 30`, '--expires must be a length of time with its unit'],
    [`place ${TERMS} --expires 1800000000`, '--expires must be'],
    [`place ${TERMS} --expires 2030-12-31`, '--expires must be'],
    [`place ${TERMS} --expires 0s`, '--expires must be'],
    ['cancel', 'no order is named'],
    ['cancel 0x12', 'hash 1 must be 0x and 64 hex digits'],
    [`cancel ${HASH}:`, 'salt 1 must be'],
    [`replace ${HASH}`, '--making must be TOKEN:AMOUNT'],
    [`replace ${HASH} ${TERMS} --remaining x`, '--remaining must be'],
    [`replace ${HASH} ${HASH} ${TERMS} --remaining 7`, '--remaining needs one order: give one hash'],
    ['order', 'order takes one hash'],
    [`order ${HASH} --at noon`, '--at must be'],
    ['heartbeat', 'heartbeat takes one length of time'],
    ['heartbeat 30', 'with its unit'],
    ['heartbeat 1800000000000', 'with its unit'],
    ['keys', 'give addresses'],
    ['keys 0x12', 'address 1 must be'],
    [`cap --making ${SELL}:7`, '--window is missing'],
    [`cap --making ${SELL}:7 --window 60`, '--window must be a length of time'],
    ['history --from yesterday', '--from must be'],
    ['history --happened filled', '--happened must be'],
    ['cancel-all --making 0x12', '--making must be'],
    ['patch-quote --data 0x123 --min-output 1', '--data must be'],
    ['patch-quote --data 0x12', '--min-output must be'],
    ['list --maker 0x12', '--maker must be'],
    ['bad-network --for 25d', '--for must be at most 24d'],
  ])('%j is refused, and nothing is sent', expectWrongWords);

  test.each(['127.0.0.1:8080', 'localhost:8080', 'ftp://x', 'http://me:secret@x'])('the URL %s is refused', (url) =>
    expectWrongWords('list', /^MAKERBOOK_URL must be a URL that begins with http:\/\/ or https:\/\/[^@]*$/, {
      MAKERBOOK_URL: url,
    }),
  );

  test('an order that has expired by the service’s clock is not signed', async () => {
    const { exitCode, complaint, sent } = await run(`place ${TERMS} --expires 2023-11-14T22:13:20Z`);
    expect([exitCode, complaint.detail, sent]).toEqual([2, '--expires is in the past', []]);
  });

  test.each([
    ['one digit less', KEY.slice(0, -1)],
    ['a line break', `${KEY}\n`],
    ['a comma', `${KEY},`],
    ['no prefix', KEY.slice(2)],
    ['zero', `0x${'0'.repeat(64)}`],
  ])('a key with %s is refused, and not shown', (_what, key) =>
    expectWrongWords('list', /^MAKER_KEY is no private key: 0x and 64 hex digits$/, { MAKER_KEY: key }),
  );

  test.each([
    `list ${KEY}`,
    KEY,
    `--${KEY}`,
    `place --making ${KEY}:1`,
    `keys ${KEY}`,
    `cancel ${KEY}1`,
    `history --from ${KEY}`,
  ])('a key in a wrong place is not shown: %j', async (words) => {
    const { complaints, exitCode } = await run(words);
    expect(exitCode).toBe(2);
    expect(complaints.join()).not.toContain('1f1f1f');
  });
});

describe('a fault is one line of JSON', () => {
  test('with exit code 1 if the service refuses', async () => {
    const handle: Handle = () => refuse('remaining_changed', {}, { index: 0, remainingMakingAmount: '0x7' });
    const { exitCode, complaint } = await run(`place ${TERMS}`, { handle });
    expect(exitCode).toBe(1);
    expect(complaint).toEqual({
      orderHash: expect.any(String),
      salt: expect.any(String),
      code: 'remaining_changed',
      detail: 'no',
      status: 409,
      retryable: false,
      mayHaveHappened: false,
      requestId: 'request-1',
      index: 0,
      remainingMakingAmount: '0x7',
    });
  });

  test('with exit code 1 if the order to replace is unknown, and nothing is placed', async () => {
    const other = `0x${'7e'.repeat(32)}`;
    const handle: Handle = (request) => (request.path.endsWith(other) ? refuse('not_found') : handleAll(request));
    const { exitCode, complaint, sent } = await run(`replace ${other} ${TERMS}`, { handle });
    expect([exitCode, complaint.code]).toEqual([1, 'not_found']);
    expect(sent.every(({ method }) => method === 'GET')).toBe(true);
  });

  test('but an unlisted order to cancel is no fault: it may be on its way, so the cancellation is sent', async () => {
    const other = `0x${'7e'.repeat(32)}`;
    const handle: Handle = (request) => {
      if (request.path.endsWith(other)) return refuse('not_found');
      const named = request.body as { readonly orderHash: string }[];
      if (request.path !== paths.cancellations) return handleAll(request);
      return answer(
        named.map(({ orderHash }) => ({ orderHash, status: orderHash === HASH ? 'CANCELLED' : 'NOT_FOUND' })),
      );
    };
    const { printed, sent } = await run(`cancel ${other} ${HASH}`, { handle });
    expect(printed.map((line) => JSON.parse(line))).toEqual([
      { orderHash: HASH, status: 'CANCELLED' },
      { orderHash: other, status: 'NOT_FOUND' },
    ]);
    const asked = sent.filter(({ path }) => path === paths.cancellations);
    expect(asked.map(({ body }) => body)).toMatchObject([[{ orderHash: HASH }], [{ orderHash: other, salt: '0x0' }]]);
  });

  test('after the results so far: cancelled orders are printed, and then the refusal of the rest', async () => {
    const other = `0x${'7e'.repeat(32)}`;
    const handle: Handle = (request) => {
      const named = request.body as { readonly orderHash: string }[];
      if (request.path.endsWith(other)) return refuse('not_found');
      if (request.path !== paths.cancellations) return handleAll(request);
      return named[0]?.orderHash === HASH
        ? answer([{ orderHash: HASH, status: 'CANCELLED' }])
        : refuse('maker_not_whitelisted');
    };
    const { printed, exitCode, complaint } = await run(`cancel ${other} ${HASH}`, { handle });
    expect(printed.map((line) => JSON.parse(line))).toEqual([{ orderHash: HASH, status: 'CANCELLED' }]);
    expect([exitCode, complaint.code]).toEqual([1, 'maker_not_whitelisted']);
  });

  test('with exit code 3 if something may have been stored, and 1 if nothing can have been', async () => {
    const handle: Handle = () => answer('<html>');
    for (const words of [`place ${TERMS} --salt 8`, `replace ${HASH}:7 ${TERMS} --salt 8`]) {
      const told = { code: 'unreadable', orderHash: expect.stringMatching(/^0x[0-9a-f]{64}$/), salt: '0x8' };
      expect(await run(words, { handle })).toMatchObject({ exitCode: 3, complaint: told });
    }
    expect(await run('heartbeat 30s', { handle })).toMatchObject({ exitCode: 3 });
    expect(await run('list', { handle })).toMatchObject({ exitCode: 1, complaint: { mayHaveHappened: false } });
  });

  test('but a missing answer to `info` is no fault if the environment names the domain', async () => {
    const { fetch, asked } = fakeService(() => NOW_MS, handleAll);
    const run = (domain: string) =>
      runCommand(['cancel-all'], {
        environment: { MAKER_KEY: KEY, MAKERBOOK_URL: 'http://x', MAKERBOOK_DOMAIN: domain },
        print: () => undefined,
        complain: () => undefined,
        version: '',
        fetch: async (input, init) => (String(input).endsWith(paths.info) ? refuse('unavailable') : fetch(input, init)),
      });
    expect(await run(`8217:Test:${CONTRACT}`)).toBe(0);
    expect(asked.map(({ method, path }) => `${method} ${path}`)).toEqual([
      `OPTIONS ${paths.limitOrders}`,
      `POST ${paths.cancelAll}`,
    ]);
    for (const wrong of ['Test', `8217:${CONTRACT}`, `x:Test:${CONTRACT}`, '8217:Test:0x12'])
      expect(await run(wrong)).toBe(2);
  });

  test('with exit code 2 if the URL leads to something other than Makerbook', async () => {
    const complaints: string[] = [];
    const exitCode = await runCommand(['list'], {
      environment: { MAKER_KEY: KEY, MAKERBOOK_URL: 'http://x' },
      print: () => undefined,
      complain: (line) => void complaints.push(line),
      version: '',
      fetch: async () => answer({ hello: 'world' }),
    });
    expect([exitCode, complaints.length]).toEqual([2, 1]);
    expect(complaints[0]).toContain('the service at MAKERBOOK_URL is not Makerbook');
  });

  test('with exit code 3 if the client itself fails', async () => {
    const handle: Handle = () => answer('[null]');
    expect(await run(`cancel ${HASH}`, { handle })).toMatchObject({ exitCode: 3, complaint: { code: 'failed' } });
  });
});
