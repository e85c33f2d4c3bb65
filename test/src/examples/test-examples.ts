import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createClient } from '@makerbook/client';
import type { Hex } from '@makerbook/contracts-primitives';
import { type StackFile, writeStackFile } from '@makerbook/local-stack';
import type { WholeStack } from '../end-to-end/open-whole.js';
import { eventually } from '../kit/eventually.js';
import { openMakers, type TestMaker } from '../kit/open-maker.js';
import { hasConfluentKafka, hasPython, pythonEnvironment } from './find-python.js';
import { installPackages } from './install-packages.js';
import { openBadGateway } from './lose-answers.js';
import { commandsIn, type Environment, outputOf, type RunningCommand, startCommand } from './run-commands.js';

const succeeds = (command: string, ...args: string[]) => spawnSync(command, args).status === 0;
const hasJdk = succeeds('sh', '-c', 'java --list-modules | grep -q jdk.compiler');

const commands = commandsIn('examples/README.md', '');
const makers = commands.filter((command) => command.includes('maker'));
const quoters = commands.filter((command) => command.includes('quoter'));
const adapters = commands.filter((command) => /poller|streamer/.test(command));
const routers = commands.filter((command) => command.includes('outer'));
/** Tells why an example cannot run here. */
function lackOf(command: string): string | undefined {
  if (command.startsWith('java') && !hasJdk) return 'there is no JDK';
  if (command.startsWith('python3') && !hasPython) return 'there is no Python of 3.10 or later';
  if (command.endsWith('router.py') && !hasConfluentKafka) return 'the Python here has no confluent_kafka';
  return undefined;
}
const left = [...makers, ...quoters, ...routers].flatMap((command) => {
  const lack = lackOf(command);
  return lack === undefined ? [] : [`left out: ${command}: ${lack}`];
});
if (left.length > 0) console.warn(left.join('\n'));

/** Prints how many signatures the two builds of the client make of one order, and one of them. */
const SIGN_IN_BOTH = `
import * as forNode from '@makerbook/client';
import * as forBrowsers from '@makerbook/client/browser';
const address = '0x${'12'.repeat(20)}';
const options = { baseUrl: 'http://x', signer: '0x${'07'.repeat(32)}', chainId: 1, serviceName: 'x', limitOrderProtocol: address };
const draft = { making: { token: address, amount: 1n }, taking: { token: address, amount: 1n }, expiresAt: 2e9, salt: 1n };
const orders = [forNode, forBrowsers].map(({ createClient }) => createClient(options).signOrder(draft));
const signatures = new Set((await Promise.all(orders)).map(({ signature }) => signature));
console.log(signatures.size, [...signatures][0]);
`;

/** Tries the maker's command: posts an order, lists it, cancels it, finds all of it in the history, and sets a cap. */
async function tryCommand(file: string, { baseUrl, tokens }: StackFile): Promise<void> {
  const env = {
    MAKERBOOK_URL: baseUrl,
    MAKER_KEY: '0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d',
  };
  const run = async (words: string) =>
    (await outputOf(`'${process.execPath}' '${file}' ${words}`, env))
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
  const [{ orderHash, status }] = await run(`place --making ${tokens[0]?.address}:7 --taking ${tokens[1]?.address}:9`);
  expect(status).toBe('VALIDATING');
  expect(await run('list')).toContainEqual(expect.objectContaining({ orderHash }));
  const unknown = `0x${'7e'.repeat(32)}`;
  expect(await run(`cancel ${orderHash} ${unknown}`)).toEqual([
    { orderHash, status: 'CANCELLED' },
    { orderHash: unknown, status: 'NOT_FOUND' },
  ]);
  const happened = (await run('history'))
    .filter((entry) => entry.orderHash === orderHash)
    .map((entry) => entry.happened);
  expect([happened[0], happened.at(-1)]).toEqual(['OPENED', 'REMOVED']);
  const token = tokens[0]?.address;
  const cap = { token, amount: '0x7', windowSeconds: 60 };
  expect(await run(`cap --making ${token}:7 --window 60s`)).toMatchObject([cap]);
  expect(await run(`cap --making ${token}:0`)).toMatchObject([{ ...cap, amount: '0x0', windowSeconds: 0 }]);
  expect(await run('heartbeat off')).toMatchObject([{ cancelAt: 0 }]);
  expect(await run('keys none')).toMatchObject([{ keys: [] }]);
  expect(await run('info')).toMatchObject([{ contracts: expect.anything() }]);
  expect(await run(`order ${orderHash}`)).toMatchObject([{ orderHash, status: 'CANCELLED' }]);
  await expect(run('lsit')).rejects.toThrow('unknown command `lsit`');
  await expect(run('place --making 7')).rejects.toThrow('--making must be TOKEN:AMOUNT');
  await expect(run('cancel --all')).rejects.toThrow("Unknown option '--all'");
}

const readmeOrder = '0x94da6a3499aabcba37e0b10f5a21b8e2d83d8d2c01c7dc36f84677ceddd8828b';
const folder = mkdtempSync(join(tmpdir(), 'makerbook-examples-'));

/** Tests every example of `examples/`, the first order of the README, and the packages as they are published. */
export function testExamples(whole: () => WholeStack): void {
  let environment: Environment;
  let following: RunningCommand[] = [];

  beforeAll(() => {
    const { stack } = whole();
    writeStackFile(folder, stack.addresses);
    environment = {
      MAKERBOOK_DATA: folder,
      TOPIC_PREFIX: stack.topicPrefix,
      MAKERBOOK_URL: stack.addresses.baseUrl,
      ...pythonEnvironment,
    };
  });
  afterAll(async () => {
    await Promise.all(following.map((router) => router.stop()));
    rmSync(folder, { recursive: true, force: true });
  });

  /** The output of a maker that has to do each thing twice. */
  async function outputOnBadDay(command: string, index: number): Promise<string> {
    const gateway = await openBadGateway(whole().stack.addresses.baseUrl);
    const own = join(folder, String(index));
    mkdirSync(own);
    writeStackFile(own, { ...whole().stack.addresses, baseUrl: gateway.url });
    try {
      const output = await outputOf(command, { ...environment, MAKERBOOK_DATA: own });
      const posts = ['POST lost', 'POST 400', 'GET 429', 'GET 429', 'GET 200'];
      expect([command, ...gateway.answers.slice(0, 5)]).toEqual([command, ...posts]);
      expect([command, ...gateway.answers.slice(-3)]).toEqual([command, 'DELETE 502', 'DELETE 503', 'DELETE 200']);
      // The answer to POST was lost, and the receipt with it.
      if (command.endsWith('example:maker')) expect(output).toMatch(/^receipt \d+:\d+\ncancelled /m);
      return output;
    } finally {
      await gateway.close();
    }
  }

  /** For each router, the lines that it should have printed and has not. */
  const missing = (wanted: readonly string[]) =>
    following.map((router) => wanted.filter((line) => !router.lines().includes(line)));
  const nothing = () => following.map(() => []);

  test('the first order of the README is stored, and refused when it is posted again', async () => {
    const [command = ''] = commandsIn('README.md', 'curl');
    const here = command.replace('http://127.0.0.1:8080', whole().stack.addresses.baseUrl);
    expect(here).not.toBe(command);
    const stored = await outputOf(here, {});
    expect(stored).toMatch(/^HTTP\/1\.1 200 /);
    expect(stored).toContain(`"orderHash":"${readmeOrder}"`);
    const refused = await outputOf(here, {});
    expect(refused).toMatch(/^HTTP\/1\.1 400 /);
    expect(refused).toContain('"code":"duplicate"');
  });

  test('what the makers post and cancel is in the book of every router, and so is what was there before', async () => {
    following = routers
      .filter((command) => lackOf(command) === undefined)
      .map((router) => startCommand(router, environment));
    const sold = 'fillOrder(order, signature, 100000000, 40000000000000000) by anyone';
    await eventually(async () => missing(['FRESH', `ACTIVE ${readmeOrder} ${sold}`]), nothing());
    for (const router of following)
      expect(router.lines()).toContainEqual(expect.stringMatching(/^snapshot: [01] open orders$/));

    const runnable = makers.filter((command) => lackOf(command) === undefined);
    expect(runnable.length).toBeGreaterThanOrEqual(2);
    const outputs = await Promise.all(runnable.map(outputOnBadDay));
    const wanted: string[] = [];
    for (const output of outputs) {
      const [first = '', second = ''] = [...output.matchAll(/^listed (0x[0-9a-f]{64}) ACTIVE$/gm)].map(
        ([, hash = '']) => hash,
      );
      expect(output.trimEnd().split('\n').at(-1)).toBe(`cancelled ${first} CANCELLED`);
      wanted.push(`ACTIVE ${second} fillOrder(order, signature, 50000000, 20000000000000000) by anyone`);
      wanted.push(`ACTIVE ${first} ${sold}`, `GONE ${first} CANCELLED`);
    }
    expect(new Set(wanted).size).toBe(3 * runnable.length);
    await eventually(async () => missing(wanted), nothing());
  });

  test.each(quoters.filter((command) => lackOf(command) === undefined))(
    '%s moves its orders, also after all were cancelled on the chain, takes over what it left, and is cancelled when it hangs',
    async (quoter) => {
      const { stack, chain } = whole();
      const [{ wallet, cancelAllOnChain }] = (await openMakers(stack, chain, 1)) as [TestMaker];
      // Give its orders another nonce than those of most makers.
      await cancelAllOnChain();
      const client = createClient({ ...stack.addresses, signer: wallet.privateKey as Hex, retry: { attemptsMax: 9 } });
      const open = async () => (await client.listOrders()).records.map(({ orderHash }) => orderHash);
      const start = () => startCommand(quoter, { ...environment, MAKER_KEY: wallet.privateKey });
      /** Waits for ten new open orders. On a slow machine the switch may take some back in between. */
      const tenBut = async (earlier: readonly string[]): Promise<readonly string[]> => {
        let hashes: readonly string[] = [];
        await eventually(async () => {
          hashes = await open();
          return [hashes.length, hashes.filter((hash) => earlier.includes(hash)).length];
        }, [10, 0]);
        return hashes;
      };
      let running = start();
      try {
        const first = await tenBut([]);
        const before = await tenBut(first);
        await cancelAllOnChain();
        const moved = await tenBut(before);
        await running.stop();
        running = start();
        await tenBut(moved);
        running.signal('SIGSTOP');
        await eventually(open, []);
      } finally {
        await running.stop();
      }
    },
  );

  test.each(adapters)('%s fills at the quoted price', async (adapter) => {
    const output = await outputOf(adapter, environment);
    expect(output).toMatch(/^quoted 2500000 for 1000000000000000\b/m);
    expect(output).toMatch(/^filled 2500000 for 1000000000000000, as quoted$/m);
    if (adapter.endsWith('streamer')) expect(output).toMatch(/^SEEN 0x[0-9a-f]{64}, [0-9]+ left$/m);
  });

  test('the packages as they are published serve a maker and a router in a project of their own', async () => {
    const project = join(folder, 'project');
    mkdirSync(project);
    installPackages(project, ['maker', 'router']);
    const commandOf = (name: string) => `'${process.execPath}' '${join(project, `${name}.js`)}'`;
    const router = startCommand(commandOf('router'), environment);
    following.push(router);
    await eventually(async () => router.lines().includes('FRESH'), true);
    const [, first = ''] = /^cancelled (0x\w+) CANCELLED$/m.exec(await outputOf(commandOf('maker'), environment)) ?? [];
    await eventually(async () => router.lines().includes(`GONE ${first} CANCELLED`), true);
    await tryCommand(join(project, 'node_modules/@makerbook/client/cli.js'), whole().stack.addresses);
    writeFileSync(join(project, 'sign.js'), SIGN_IN_BOTH);
    expect(await outputOf(commandOf('sign'), {})).toMatch(/^1 0x[0-9a-f]{130}\n$/);
    expect(readFileSync(join(project, 'node_modules/@makerbook/client/browser.js'), 'utf8')).not.toMatch(/^import\b/m);
  });

  test('every router says that the feed is dead while the projector hangs, and when it goes on', async () => {
    const last = (router: RunningCommand) => router.lines().findLast((line) => /^(STALE|FRESH)/.test(line)) ?? '';
    const said = async () => following.map((router) => last(router).slice(0, 5));
    expect(following.length).toBeGreaterThan(0);
    await whole().stack.freeze('projector');
    try {
      await eventually(
        said,
        following.map(() => 'STALE'),
      );
    } finally {
      whole().stack.signal('SIGCONT', 'projector');
    }
    await eventually(
      said,
      following.map(() => 'FRESH'),
    );
  });
}
