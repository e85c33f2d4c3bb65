import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { type AnvilPart, type Gate, type Misbehaviour, startAnvil, startMisbehavingNode } from '@makerbook/parts';
import { id, JsonRpcProvider, parseEther, toBeHex, Wallet } from 'ethers';
import { runContracts } from './contracts-command.js';

const SIGNER = `0x${'51'.repeat(20)}`;
let chain: AnvilPart;
let node: JsonRpcProvider;
let gate: Gate;
/** How the node answers; undefined: as a node that is not for development. */
let misbehave: Misbehaviour | undefined;

beforeAll(async () => {
  chain = await startAnvil();
  node = new JsonRpcProvider(chain.rpcUrl, 8217, { staticNetwork: true, cacheTimeout: -1 });
  gate = await startMisbehavingNode(chain.rpcUrl, (calls, forward) => {
    const other = calls.find(({ method }) => /^(anvil|evm|hardhat)_/.test(method));
    if (other !== undefined) throw new Error(`${other.method} is of development chains`);
    return (misbehave ?? ((all) => forward(all)))(calls, forward);
  });
});
afterAll(async () => {
  node.destroy();
  await gate.close();
  await chain.stop();
});
afterEach(() => {
  misbehave = undefined;
});

/** A new account with so many coins. */
async function fund(coins = '100'): Promise<Wallet> {
  const account = Wallet.createRandom();
  await node.send('anvil_setBalance', [account.address, toBeHex(parseEther(coins))]);
  return new Wallet(account.privateKey, node);
}
async function run(account: { readonly privateKey: string }, other: Record<string, string> = {}, withTokens = false) {
  const said: string[] = [];
  const environment = {
    SERVICE_NAME: 'Makerbook',
    RPC_URL: gate.url,
    DEPLOYER_KEY: account.privateKey,
    QUOTE_SIGNERS: SIGNER,
    ...other,
  };
  const outcome = await runContracts({ withTokens, isSure: true }, environment, (line) => said.push(line)).finally(() =>
    expect(said.join()).not.toContain(account.privateKey.slice(2)),
  );
  const settings = Object.fromEntries(
    outcome.lines.filter((line) => /^[A-Z_]+=/.test(line)).map((line) => line.split('=') as [string, string]),
  );
  return { said, settings, lines: outcome.lines, exitCode: outcome.exitCode };
}

describe('contracts on any chain', () => {
  test('are deployed once, with one account, and the settings are reported', async () => {
    const account = await fund();
    const first = await run(account);
    expect(first.exitCode).toBe(0);
    expect(first.said[0]).toBe(`chain 8217, account ${account.address.toLowerCase()} with 100.0 coins`);
    expect(first.said.at(-1)).toMatch(/^4 transactions, at most 0\.\d+ coins$/);
    const count = await node.getTransactionCount(account.address);
    const again = await run(account);
    expect(again.said.at(-1)).toBe('nothing is missing');
    expect(again.settings).toEqual(first.settings);
    expect(await node.getTransactionCount(account.address)).toBe(count);
    const addresses = [
      'LIMIT_ORDER_PROTOCOL_ADDRESS',
      'MULTICALL_ADDRESS',
      'NAVIGATOR_ADDRESS',
      'ORDER_FILLER_ADDRESS',
    ];
    for (const name of addresses) expect((await node.getCode(first.settings[name] ?? '')).length).toBeGreaterThan(100);
    expect(first.lines).toContain('settings:');
    expect(first.lines).toContain(`  NAVIGATOR_ADDRESS: "${first.settings['NAVIGATOR_ADDRESS']}"`);
  });

  test('that are missing are added: tokens, and a Navigator for other signers', async () => {
    const account = await fund();
    const first = await run(account);
    const second = await run(account, { QUOTE_SIGNERS: account.address }, true);
    expect(second.said.at(-1)).toMatch(/^5 transactions/);
    const { NAVIGATOR_ADDRESS: before, QUOTE_SIGNERS: _, ...kept } = first.settings;
    expect(second.settings).toMatchObject(kept);
    expect(second.settings['NAVIGATOR_ADDRESS']).not.toBe(before);
    expect(second.settings['TOKENS']).toMatch(/^USDT:6:0x\w{40},WETH:18:0x\w{40},WBTC:8:0x\w{40},WKAIA:18:0x\w{40}$/);
  });

  test('are deployed again for another service name, except Multicall3', async () => {
    const account = await fund();
    await run(account);
    const other = await run(account, { SERVICE_NAME: 'Otherbook' });
    expect(other.said.filter((line) => line.includes(' is at '))).toEqual([expect.stringMatching(/^Multicall3/)]);
  });
});

describe('nothing is sent', () => {
  test.each<[string, () => Promise<[Wallet, Record<string, string>]>, RegExp]>([
    [
      'to another chain',
      async () => [await fund(), { CHAIN_ID: '1001' }],
      /RPC_URL has chain id 8217, but CHAIN_ID is 1001/,
    ],
    ['with too few coins', async () => [await fund('0.0001'), {}], /holds 0\.0001 coins, and 0\.\d+ are needed/],
  ])('%s', async (_name, given, message) => {
    const [account, environment] = await given();
    await expect(run(account, environment)).rejects.toThrow(message);
    expect(await node.getTransactionCount(account.address)).toBe(0);
  });

  test('while transactions of the account wait', async () => {
    const account = await fund();
    await node.send('evm_setAutomine', [false]);
    try {
      await account.sendTransaction({ to: SIGNER, value: 1n });
      await expect(run(account)).rejects.toThrow(/has 1 pending transactions, from nonce 0 on/);
    } finally {
      await node.send('evm_setAutomine', [true]);
      await node.send('evm_mine', []);
    }
  });

  test('if nobody says yes', async () => {
    const account = await fund();
    const environment = { SERVICE_NAME: 'Makerbook', RPC_URL: gate.url, DEPLOYER_KEY: account.privateKey };
    const outcome = await runContracts({ withTokens: false, isSure: false }, environment, () => undefined);
    expect(outcome).toEqual({ lines: [expect.stringMatching(/^Nothing was sent/)], exitCode: 1 });
  });

  test('with an invalid key, which is not shown', async () => {
    const privateKey = `${id('a key').slice(0, -1)}`;
    const failure = await run({ privateKey }).catch((error: Error) => error);
    expect(String(failure)).toMatch(/DEPLOYER_KEY: must be a private key: 0x and 64 hex digits/);
    expect(String(failure)).not.toContain(privateKey.slice(2, 20));
  });
});

describe('a failure says what was made and what was not', () => {
  test('if the node accepts no more', async () => {
    let sends = 0;
    misbehave = async (calls, forward) => {
      const isSend = calls.some(({ method }) => method === 'eth_sendRawTransaction');
      if (isSend) sends += 1;
      if (!isSend || sends < 3) return forward(calls);
      return calls.map(({ id }) => ({ id, error: { code: -32000, message: 'the pool is full' } }));
    };
    const account = await fund();
    await expect(run(account)).rejects.toThrow(
      /the pool is full.*Made: LimitOrderProtocol at 0x\w{40}, Multicall3 at 0x\w{40}\. Not made: OrderFiller, Navigator\./,
    );
    misbehave = undefined;
    expect((await run(account)).said.at(-1)).toMatch(/^2 transactions/);
  });

  test('if a deployment is reverted', async () => {
    misbehave = async (calls, forward) => {
      const creation = calls.find(({ method }) => method === 'eth_estimateGas');
      const answers = await forward(calls);
      if (creation === undefined || 'status' in answers) return answers;
      // Too little gas for any contract.
      return answers.map((answer, at) =>
        calls[at]?.method === 'eth_estimateGas' ? { ...answer, result: '0x30000' } : answer,
      );
    };
    await expect(run(await fund())).rejects.toThrow(/Made: .*Not made: .*LimitOrderProtocol/);
  });
});
