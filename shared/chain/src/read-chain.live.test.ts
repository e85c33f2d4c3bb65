import { afterAll, describe, expect, test } from '@jest/globals';
import { deployArtifacts, eventTopics } from '@makerbook/contracts-evm';
import type { Address, Hex } from '@makerbook/contracts-primitives';
import { startAnvil, until } from '@makerbook/parts';
import { Contract } from 'ethers';
import {
  allowance,
  balanceOf,
  createStateReader,
  isContract,
  nonceOf,
  PUT_OFF,
  RpcRefused,
  RpcUnavailable,
  readBlock,
  readBlockAndHead,
  readBlockAndNewest,
  readChainId,
  readLogs,
  readLogsOfRange,
  type StateCall,
} from './index.js';
import { greedyMulticall } from './testing/greedy-multicall.js';
import { type Answer, openChain } from './testing/open-chain.js';

const chain = await openChain();
afterAll(() => chain.stop());
const { provider, account, deploy, send, forward, serve, openNode } = chain;
const { rpcUrl } = chain.anvil;
const node = openNode([rpcUrl]);
const multicall = await deploy(deployArtifacts.Multicall3);
const token = await deploy(deployArtifacts.IllBehavedToken, 'Token', 'TOK', 18);

const head = async (): Promise<Hex> => {
  const block = await readBlock(node, 'latest');
  if (block === undefined) throw new Error('no newest block');
  return block.hash;
};
const refusal = (code: number, message: string) => (body: string) => {
  const asked = JSON.parse(body) as { id: number } | { id: number }[];
  const refuse = ({ id }: { id: number }) => ({ jsonrpc: '2.0', id, error: { code, message } });
  return { status: 200, body: JSON.stringify(Array.isArray(asked) ? asked.map(refuse) : refuse(asked)) };
};

/** Places a contract that loops so often, and returns the number of the last turn. */
async function deployLoop(turns: number): Promise<Address> {
  const at: Address = `0x49${turns.toString(16).padStart(38, '0')}`;
  const code = `0x5f5b6001018061${turns.toString(16).padStart(4, '0')}116001575f5260205ff3`;
  await provider.send('anvil_setCode', [at, code]);
  await provider.send('anvil_mine', []);
  return at;
}

describe('blocks and logs', () => {
  test('are read by number and by hash, and a block that does not exist yet is undefined', async () => {
    await send(token, 'mint', account, 5n);
    const number = await provider.getBlockNumber();
    const expected = await provider.getBlock(number);
    const { block, logsBloom, headNumber } = await readBlockAndHead(node, number);
    expect(headNumber).toBe(number);
    const asked = { number, hash: expected?.hash as Hex, logsBloom };
    expect(block).toMatchObject({ number, hash: expected?.hash, parentHash: expected?.parentHash });
    expect(block?.timestamp).toBe(expected?.timestamp);
    expect((await readBlockAndHead(node, number + 1)).block).toBeUndefined();

    const logs = await readLogs(node, asked, { topics: [eventTopics.transfer] });
    expect(logs).toHaveLength(1);
    expect(logs[0]).toMatchObject({ address: token, blockNumber: number, blockHash: expected?.hash });
    const filter = { address: token, topics: [eventTopics.transfer] };
    expect(await readLogsOfRange(node, number, number, filter)).toEqual(logs);
    expect(await readLogs(node, asked, { topics: [eventTopics.approval] })).toEqual([]);
    expect(await readChainId(node)).toBe(8217);
    expect([await isContract(node, token), await isContract(node, account)]).toEqual([true, false]);
  });
});

describe('values', () => {
  test('are those of exactly the requested block', async () => {
    const reader = createStateReader({ node, multicall });
    await send(token, 'mint', account, 100n);
    const before = await head();
    const [old] = await reader.read(before, [balanceOf(token, account)]);
    await send(token, 'mint', account, 7n);
    const calls = [balanceOf(token, account), allowance(token, account, multicall)];
    expect(await reader.read(before, calls)).toEqual([old, 0n]);
    expect(await reader.read(await head(), calls)).toEqual([BigInt(old ?? 0n) + 7n, 0n]);
  });

  test('of many calls come in the order of the calls, in as few requests as the bound allows', async () => {
    const reader = createStateReader({ node, multicall, callsMax: 10 });
    const accounts = Array.from({ length: 95 }, (_, n): Address => `0x${(n + 1).toString(16).padStart(40, '0')}`);
    for (const [n, each] of accounts.entries()) if (n % 30 === 0) await send(token, 'mint', each, BigInt(n + 1));
    const block = await head();
    // Read the token's code first: it is read only once.
    await reader.read(block, [balanceOf(token, account)]);
    const before = node.counts().calls;
    const values = await reader.read(
      block,
      accounts.map((each) => balanceOf(token, each)),
    );
    expect(values).toEqual(accounts.map((_, n) => (n % 30 === 0 ? BigInt(n + 1) : 0n)));
    expect(node.counts().calls - before).toBe(10);
  });

  test.each([
    ['reverts', 1, 'Multicall3 as it is deployed here'],
    ['returns less than a word', 2, 'Multicall3 as it is deployed here'],
    ['returns 4,097 bytes', 3, 'Multicall3 as it is deployed here'],
    ['returns a million bytes', 4, 'Multicall3 as it is deployed here'],
    ['burns all gas', 5, 'Multicall3 as it is deployed here'],
    ['burns all gas', 5, 'one that gives each call all the gas it has'],
  ])('of honest tokens are read beside a token that %s (%i), through %s', async (_what, answer, through) => {
    const isGreedy = through.startsWith('one');
    const address = isGreedy ? await deploy({ abi: [], bytecode: greedyMulticall }) : multicall;
    const reader = createStateReader({ node, multicall: address });
    const burner = await deploy(deployArtifacts.IllBehavedToken, 'Burner', 'BRN', 18);
    await send(burner, 'setBalanceAnswer', answer);
    await send(token, 'mint', account, 1n);
    const block = await head();
    const contract = new Contract(token, deployArtifacts.TestToken.abi, provider);
    const balance: bigint = await contract.getFunction('balanceOf')(account);
    const honest = Array.from({ length: 60 }, () => balanceOf(token, account));
    const calls = [...honest, balanceOf(burner, account), balanceOf(burner, multicall), ...honest];
    for (const round of ['first', 'again']) {
      const values = await reader.read(block, calls);
      expect([round, new Set([...values.slice(0, 60), ...values.slice(62)])]).toEqual([round, new Set([balance])]);
      expect(values.slice(60, 62)).toEqual([undefined, undefined]);
    }
    expect([...reader.suspects().values()]).toEqual([balanceOf(burner, account), balanceOf(burner, multicall)]);
    await send(burner, 'setBalanceAnswer', 0);
    // It answers again for one account, so the other call goes into a batch again too.
    expect(await reader.read(await head(), [balanceOf(burner, account)])).toEqual([0n]);
    expect(reader.suspects().size).toBe(0);
  });

  test('that cannot be read cost only so much gas, however many they are, and are tried in turn', async () => {
    const asked: number[] = [];
    const url = await serve(async (body) => {
      const calls = [JSON.parse(body)].flat() as { params: [{ gas: Hex }] }[];
      asked.push(...calls.map(({ params }) => Number(params[0].gas)));
      return forward(body);
    });
    const counted = openNode([url]);
    const reader = createStateReader({ node: counted, multicall, suspectCallsMax: 3 });
    const burner = await deploy(deployArtifacts.IllBehavedToken, 'Burner', 'BRN', 18);
    await send(burner, 'setBalanceAnswer', 5);
    await send(token, 'mint', account, 1n);
    const block = await head();
    const [balance] = await reader.read(block, [balanceOf(token, account)]);
    const accounts = Array.from({ length: 20 }, (_, n): Address => `0x${(n + 1).toString(16).padStart(40, '0')}`);
    const bad = accounts.map((each) => balanceOf(burner, each));
    const gasOf = async (calls: readonly StateCall[]) => {
      asked.length = 0;
      const values = await reader.read(block, calls);
      const isRight = ({ to }: StateCall, n: number) =>
        to === token ? values[n] === balance : values[n] === undefined || values[n] === PUT_OFF;
      expect(calls.filter((call, n) => !isRight(call, n))).toEqual([]);
      expect(values.filter((value) => value === undefined)).toHaveLength(3);
      return asked.reduce((sum, gas) => sum + gas, 0);
    };
    const mixed = [balanceOf(token, account), ...bad, balanceOf(token, account)];
    // They run in a batch, then alone with an empty call, and three of them with the most gas of a call.
    expect(await gasOf(mixed)).toBeLessThanOrEqual(22 * 150_000 + 100_000 + 21 * 400_000 + 4 * 3_000_000);
    // From then on the honest calls run in a batch, and three suspects alone.
    for (let round = 0; round < 7; round += 1) {
      const first = [...reader.suspects().values()].slice(0, 3);
      expect(await gasOf(mixed)).toBeLessThanOrEqual(2 * 150_000 + 100_000 + 4 * 3_000_000);
      expect(asked).toHaveLength(5);
      expect([...reader.suspects().values()].slice(-3)).toEqual(first);
    }
    expect(reader.suspects().size).toBe(20);
  });

  test('of one payer with many calls share a gas bound, and values of other payers are all read', async () => {
    const asked: number[] = [];
    const url = await serve(async (body) => {
      const calls = [JSON.parse(body)].flat() as { params: [{ gas?: Hex }] }[];
      asked.push(...calls.map(({ params }) => Number(params[0].gas ?? 0)));
      return forward(body);
    });
    const reader = createStateReader({ node: openNode([url]), multicall });
    const hungry = await deployLoop(4_000);
    await send(token, 'mint', account, 1n);
    const block = await head();
    const [balance] = await reader.read(block, [balanceOf(token, account)]);
    const accounts = Array.from({ length: 400 }, (_, n): Address => `0x${(n + 1).toString(16).padStart(40, '0')}`);
    const own = accounts.map((each) => ({ ...balanceOf(hungry, each), payer: account }));
    const others = accounts.slice(0, 50).map((each) => ({ ...balanceOf(token, account), payer: each }));
    asked.length = 0;
    const values = await reader.read(block, [...own, ...others]);
    expect(values.slice(400)).toEqual(others.map(() => balance));
    const read = values.slice(0, 400).filter((value) => value === 4000n);
    expect(read.length).toBeGreaterThan(10);
    expect(values.slice(0, 400).filter((value) => value === PUT_OFF)).toHaveLength(400 - read.length);
    const ofOthers = 50 * 150_000 + 100_000;
    expect(asked.reduce((sum, gas) => sum + gas, 0)).toBeLessThanOrEqual(6_000_000 + 21 * 400_000 + ofOthers);
    // A few such calls need no bound.
    expect(await reader.read(block, own.slice(0, 20))).toEqual(own.slice(0, 20).map(() => 4000n));
  });

  test('of suspects are read for each account in turn', async () => {
    const burner = await deploy(deployArtifacts.IllBehavedToken, 'Burner', 'BRN', 18);
    await send(burner, 'setBalanceAnswer', 5);
    await send(burner, 'setAllowanceAnswer', 5);
    const block = await head();
    const reader = createStateReader({ node, multicall, suspectCallsMax: 2 });
    const [many, few] = [account, multicall];
    const spenders = Array.from({ length: 10 }, (_, n): Address => `0x${(n + 1).toString(16).padStart(40, '0')}`);
    const calls = [...spenders.map((spender) => allowance(burner, many, spender)), balanceOf(burner, few)];
    for (let round = 0; round < 7; round += 1) await reader.read(block, calls);
    const values = await reader.read(block, calls);
    expect(values.at(-1)).toBeUndefined();
    expect(values.filter((value) => value === undefined)).toHaveLength(2);
  });

  test('that are read alone share no gas, and each may cost as much as a signature check', async () => {
    const reader = createStateReader({ node, multicall });
    const burner = await deploy(deployArtifacts.IllBehavedToken, 'Burner', 'BRN', 18);
    await send(burner, 'setBalanceAnswer', 5);
    const hungry = await deployLoop(4_000);
    const calls = [balanceOf(burner, account), balanceOf(hungry, account)];
    expect(await reader.readAlone(await head(), calls)).toEqual([undefined, 4000n]);
    expect(reader.suspects().size).toBe(0);
  });

  test('of a token that needs more gas than its share are still read', async () => {
    const hungry = await deployLoop(20_000);
    const reader = createStateReader({ node, multicall });
    const calls = [balanceOf(hungry, account), balanceOf(token, account)];
    const [value, honest] = await reader.read(await head(), calls);
    expect(value).toBe(20_000n);
    expect(honest).toBeGreaterThan(0n);
  });

  test('are undefined at an address without code, even a precompile, until it has code', async () => {
    const reader = createStateReader({ node, multicall });
    const precompiles = [1, 2, 3, 4, 5].map((n): Address => `0x${n.toString(16).padStart(40, '0')}`);
    const later: Address = `0x${'7e'.repeat(20)}`;
    const calls = [...precompiles, later, token].map((each) => balanceOf(each, account));
    const [balance] = await reader.read(await head(), calls.slice(-1));
    expect(balance).toBeGreaterThan(0n);
    expect(await reader.read(await head(), calls)).toEqual([...precompiles.map(() => undefined), undefined, balance]);
    expect([...reader.suspects().values()]).toEqual(expect.arrayContaining(calls.slice(0, -1)));
    await provider.send('anvil_setCode', [later, await provider.getCode(token)]);
    await provider.send('anvil_mine', []);
    expect((await reader.read(await head(), calls)).slice(-2)).toEqual([0n, balance]);
  });

  test('are undefined without a contract, and no token is suspected if the node lacks the block', async () => {
    const reader = createStateReader({ node, multicall });
    const call = nonceOf(account, account);
    expect(await reader.read(await head(), [call])).toEqual([undefined]);
    const unknown: Hex = `0x${'12'.repeat(32)}`;
    await expect(reader.read(unknown, [balanceOf(token, account)])).rejects.toThrow(RpcRefused);
    expect([...reader.suspects().values()]).toEqual([call]);
  });
});

describe('a failing node is never taken for a failing token', () => {
  interface Asked {
    readonly id: number;
    readonly params: readonly [{ readonly data: Hex }, unknown];
  }
  /** True for all but the empty call, which even a busy node runs. */
  const isHeavy = ({ params: [{ data }] }: Asked) => data.length > 2 * (4 + 64 + 64);
  const everySecond = () => {
    let count = 0;
    return () => {
      count += 1;
      return count % 2 === 0;
    };
  };

  test.each([
    ['lags behind, behind a balancer with one that does not', everySecond(), -32000, 'header not found', 200],
    ['limits heavy calls with 429', isHeavy, -32005, 'limit exceeded', 429],
    ['has no time for heavy calls', isHeavy, -32000, 'request timed out', 200],
  ])('if it %s', async (_what, misbehaves: (call: Asked) => boolean, code, message, status) => {
    let hasRecovered = false;
    const url = await serve(async (body) => {
      const answered = await forward(body);
      const asked = JSON.parse(body) as Asked | Asked[];
      const refused = [asked].flat().filter((call) => !hasRecovered && misbehaves(call));
      if (refused.length === 0) return answered;
      const answers = [JSON.parse(answered.body) as { id: number }].flat().map(({ id, ...answer }) => ({
        id,
        ...(refused.some((call) => call.id === id) ? { error: { code, message } } : answer),
      }));
      return { status, body: JSON.stringify(Array.isArray(asked) ? answers : answers[0]) };
    });
    const failing = openNode([url]);
    const reverting = await deploy(deployArtifacts.IllBehavedToken, 'Reverting', 'REV', 18);
    await send(reverting, 'setBalanceAnswer', 1);
    await send(token, 'mint', account, 1n);
    const block = await head();
    const [balance] = await createStateReader({ node, multicall }).read(block, [balanceOf(token, account)]);
    const reader = createStateReader({ node: failing, multicall });
    const calls = [...Array.from({ length: 5 }, () => balanceOf(token, account)), balanceOf(reverting, account)];
    const expected = [...Array.from({ length: 5 }, () => balance), undefined];
    let failures = 0;
    for (let attempt = 0; attempt < 6; attempt += 1) {
      const values = await reader.read(block, calls).catch((error: unknown) => {
        failures += 1;
        expect(error instanceof RpcRefused ? error.retryable : error instanceof RpcUnavailable).toBe(true);
        return undefined;
      });
      if (values !== undefined) expect(values).toEqual(expected);
    }
    expect(failures).toBeGreaterThan(0);
    hasRecovered = true;
    expect(await reader.read(block, calls)).toEqual(expected);
    expect([...reader.suspects().values()]).toEqual([balanceOf(reverting, account)]);
  });

  test('if it refuses large calls, and all is read call by call', async () => {
    const sizes: number[] = [];
    const url = await serve((body) => {
      if (body.includes('eth_getCode')) return forward(body);
      sizes.push(body.length);
      return body.startsWith('[') ? forward(body) : refusal(-32000, 'response is too large')(body);
    });
    const small = openNode([url]);
    const reader = createStateReader({ node: small, multicall });
    const block = await head();
    const calls = Array.from({ length: 100 }, () => balanceOf(token, account));
    const [balance] = await createStateReader({ node, multicall }).read(block, calls.slice(0, 1));
    expect(new Set(await reader.read(block, calls))).toEqual(new Set([balance]));
    // Two batches, then requests of forty calls.
    expect([sizes.length, reader.suspects().size]).toEqual([5, 0]);
  });

  test('if it can execute nothing at all', async () => {
    const url = await serve(refusal(3, 'execution reverted'));
    const broken = openNode([url, url]);
    const reader = createStateReader({ node: broken, multicall });
    const reading = reader.read(await head(), [balanceOf(token, account)]);
    await expect(reading).rejects.toThrow(/cannot execute calls at block/);
    expect(reader.suspects().size).toBe(0);
  });
});

describe('several endpoints', () => {
  test('are asked in turn, and one that does not answer rests for a growing time', async () => {
    let asked = 0;
    let nowMs = 0;
    const silent = await serve(() => {
      asked += 1;
      return { status: 502, body: 'bad gateway' };
    });
    const both = openNode([silent, rpcUrl], { monotonicMs: () => nowMs, restMs: 100 });
    expect(await readChainId(both)).toBe(8217);
    expect([asked, both.counts().failovers, both.counts().failures]).toEqual([1, 1, 1]);
    nowMs = 99;
    await readChainId(both);
    expect(asked).toBe(1);
    // The probe runs beside the call, which does not wait for it.
    const probedAt = async (ms: number) => {
      nowMs = ms;
      const { failures } = both.counts();
      await readChainId(both);
      await until('it was asked again', () => both.counts().failures > failures);
    };
    await probedAt(100);
    nowMs = 299;
    await readChainId(both);
    expect(asked).toBe(2);
    await probedAt(300);
    expect([asked, both.counts().failovers]).toEqual([3, 1]);
  });

  test('are asked without a slow one until it is quick again', async () => {
    let nowMs = 0;
    let isAsking = false;
    const lateMs = { preferred: 1500, spare: 0 };
    const answered: string[] = [];
    const serveLate = (name: keyof typeof lateMs) =>
      serve(async (body) => {
        const { method } = JSON.parse(body);
        // All share one clock, so the probe must not run while a call is timed.
        if (method === 'eth_blockNumber') await until('no call waits', () => !isAsking);
        else answered.push(name);
        nowMs += lateMs[name];
        return forward(body);
      });
    const both = openNode([await serveLate('preferred'), await serveLate('spare')], { monotonicMs: () => nowMs });
    const whoAnswers = async () => {
      isAsking = true;
      await readChainId(both);
      isAsking = false;
      nowMs += 200;
      return answered.at(-1);
    };
    expect(await whoAnswers()).toBe('preferred');
    for (let n = 0; n < 200; n += 1) expect(await whoAnswers()).toBe('spare');
    lateMs.preferred = 0;
    await until('the preferred one is well', async () => (await whoAnswers()) === 'preferred');
    Object.assign(lateMs, { preferred: 1500, spare: 1500 });
    expect([await whoAnswers(), await whoAnswers()]).toEqual(['preferred', 'spare']);
    // If all are slow, the preferred one stays first.
    for (let n = 0; n < 20; n += 1) expect(await whoAnswers()).toBe('preferred');
    expect([both.counts().failovers, both.counts().failures]).toEqual([0, 0]);
  });

  test('are asked without a hanging one, however often its rest ends, until it answers again', async () => {
    let nowMs = 0;
    let hangs = true;
    const methods: string[] = [];
    const hanging = await serve((body) => {
      methods.push(JSON.parse(body).method);
      return hangs ? undefined : forward(body);
    });
    const both = openNode([hanging, rpcUrl], { monotonicMs: () => nowMs, timeoutMs: 2000 });
    await readChainId(both);
    for (let failures = 1; failures < 4; failures += 1) {
      // Calls go on also while the probe has not been answered yet.
      for (let n = 0; n < 10; n += 1) {
        nowMs += 1000;
        await readChainId(both);
      }
      await until('it has hung again', () => both.counts().failures > failures);
    }
    expect(methods[0]).toBe('eth_chainId');
    expect(new Set(methods.slice(1))).toEqual(new Set(['eth_blockNumber']));
    expect(both.counts().failovers).toBe(1);
    hangs = false;
    nowMs += 30_000;
    await until('it is preferred again', async () => {
      nowMs += 1000;
      await readChainId(both);
      return methods.at(-1) === 'eth_chainId';
    });
  });

  test('are asked in turn if one does not know the method, and a retry is useless only if all refuse', async () => {
    const stranger = await serve(refusal(-32601, 'the method does not exist'));
    const both = openNode([stranger, rpcUrl]);
    expect(await readChainId(both)).toBe(8217);
    await expect(both.call('eth_noSuchMethod', [])).rejects.toMatchObject({ retryable: false, code: -32601 });
    expect(both.counts().failovers).toBe(2);

    const away = await serve(() => ({ status: 502, body: 'bad gateway' }));
    const one = openNode([away, stranger]);
    for (const attempt of ['while the other one is asked', 'while the other one rests']) {
      const failure = await readChainId(one).catch((error: unknown) => error);
      expect([attempt, failure]).toEqual([attempt, expect.objectContaining({ retryable: true, code: -32601 })]);
    }
  });

  test('are not asked in turn if the execution itself fails: all would answer the same', async () => {
    const both = openNode([rpcUrl, rpcUrl]);
    const failing = { to: token, data: '0x12345678' };
    await expect(both.call('eth_call', [failing, 'latest'])).rejects.toMatchObject({ isOfExecution: true });
    expect(both.counts().failovers).toBe(0);
  });

  test('can be asked one by one, and every answer names its endpoint', async () => {
    const number = await provider.getBlockNumber();
    const [first, second] = [await serve(forward), await serve(forward)];
    const both = openNode([first, second]);
    expect((await readBlockAndNewest(both, number - 1)).endpoint).toBe(new URL(first).host);
    expect(await Promise.all(both.endpoints().map((each) => readBlockAndNewest(each, number - 1)))).toEqual([
      expect.objectContaining({ endpoint: new URL(first).host, newest: expect.objectContaining({ number }) }),
      expect.objectContaining({ endpoint: new URL(second).host, newest: expect.objectContaining({ number }) }),
    ]);
  });

  test('are asked last while they are passed over', async () => {
    let nowMs = 0;
    const urls = [await serve(forward), await serve(forward)];
    const [first, second] = urls.map((url) => new URL(url).host);
    const both = openNode(urls, { monotonicMs: () => nowMs });
    const asked = async () => (await readBlockAndHead(both, 1)).endpoint;
    expect(await asked()).toBe(first);
    both.passOver(first ?? '');
    expect(await asked()).toBe(second);
    both.passOver(second ?? '');
    expect(await asked()).toBe(first);
    nowMs = 5000;
    expect(await asked()).toBe(first);
  });

  test('of another chain are detected before any question, and whenever they come back', async () => {
    const other = await startAnvil({ chainId: 1001 });
    try {
      let isAway = true;
      const methods: string[] = [];
      const swapped = await serve((body) => {
        methods.push(...[JSON.parse(body)].flat().map(({ method }: { method: string }) => method));
        return isAway ? { status: 502, body: 'bad gateway' } : forward(body, other.rpcUrl);
      });
      let nowMs = 0;
      const both = openNode([swapped, rpcUrl], { monotonicMs: () => nowMs, chainId: 8217 });
      await readBlock(both, 'latest');
      isAway = false;
      nowMs = 10_000;
      const told = `the node at ${new URL(swapped).host} has chain id 1001, not CHAIN_ID=8217`;
      const find = () =>
        readBlock(both, 'latest').then(
          () => false,
          (error: unknown) => {
            expect(error).toMatchObject({ name: 'ChainContradiction', message: told });
            return true;
          },
        );
      await until('it is found out', find);
      expect(methods).toEqual(['eth_chainId', 'eth_chainId', 'eth_chainId']);
    } finally {
      await other.stop();
    }
  });

  test('have their failures counted one by one, under names without keys', async () => {
    const url = await serve((body) => ({ status: 404, body: `Cannot POST /v2/0123456789abcdef: ${body}` }));
    const { host } = new URL(url);
    const urls = [`${url}/v2/0123456789abcdef`, `${url}/v2/fedcba9876543210`, rpcUrl];
    const all = openNode(urls);
    await readChainId(all);
    const failures = Object.fromEntries(all.counts().failuresByEndpoint);
    expect(failures).toEqual({ [host]: 1, [`${host}#2`]: 1, [new URL(rpcUrl).host]: 0 });
    const one = openNode(urls.slice(0, 1));
    const failure = (await readChainId(one).catch((error: unknown) => error)) as Error;
    expect(failure.message).toMatch(new RegExp(`^${host} answered 404 with no JSON: Cannot POST …`));
  });
});

describe('a range of logs', () => {
  test('is not taken from a node that lags behind, which would silently leave out the newest logs', async () => {
    await send(token, 'mint', account, 5n);
    const number = await provider.getBlockNumber();
    const behind = await serve(async (body) => {
      const { status, body: answer } = await forward(body);
      const answers = JSON.parse(answer) as { result: unknown }[];
      return {
        status,
        body: JSON.stringify(answers.map((each) => ({ ...each, result: Array.isArray(each.result) ? [] : null }))),
      };
    });
    const filter = { address: token, topics: [eventTopics.transfer] };
    const one = openNode([behind]);
    await expect(readLogsOfRange(one, number, number, filter)).rejects.toThrow(/does not have block \d+ yet/);
    const both = openNode([behind, rpcUrl]);
    expect(await readLogsOfRange(both, number, number, filter)).toHaveLength(1);
  });
});

describe('a node', () => {
  test.each<[string, () => Answer | undefined, RegExp, timeoutMs?: number]>([
    ['is not there', () => ({ status: 503, body: '<html>' }), /answered 503: <html>/],
    ['answers with HTML', () => ({ status: 200, body: '<html>' }), /answered 200 with no JSON: <html>/],
    ['says so by its status alone', () => ({ status: 500, body: '{"id":1,"result":"0x2019"}' }), /answered 500: /],
    [
      'limits the rate',
      () => ({ status: 429, body: '{"id":1,"error":{"code":3,"message":"execution reverted"}}' }),
      /429/,
    ],
    ['answers with too much', () => ({ status: 200, body: ' '.repeat(2000) }), /more than 1000 bytes/],
    ['answers another call', () => ({ status: 200, body: '{"id":77,"result":"0x1"}' }), /no result/],
    ['answers null', () => ({ status: 200, body: 'null' }), /without an answer/],
    ['says nothing', () => undefined, /did not answer within 200 ms/, 200],
  ])('that %s fails with RpcUnavailable and the reason', async (_what, answer, message, timeoutMs = 60_000) => {
    const one = openNode([await serve(answer)], { timeoutMs, responseBytesMax: 1000 });
    const failure = await readChainId(one).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(RpcUnavailable);
    expect((failure as Error).message).toMatch(message);
  });

  test('that refuses a whole batch fails with RpcRefused', async () => {
    const body = '{"jsonrpc":"2.0","id":null,"error":{"code":-32005,"message":"batch too large"}}';
    const one = openNode([await serve(() => ({ status: 200, body }))]);
    await expect(readBlockAndHead(one, 1)).rejects.toMatchObject({ name: 'RpcRefused', code: -32005, retryable: true });
  });

  test('that gives an invalid block fails with the name of the wrong field', async () => {
    const url = await serve((body) => ({
      status: 200,
      body: JSON.stringify({ id: JSON.parse(body).id, result: { number: '0x1', hash: '0x12' } }),
    }));
    const one = openNode([url]);
    await expect(readBlock(one, 1)).rejects.toThrow(/block.hash that is not 32 bytes/);
  });
});
