import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { deployArtifacts } from '@makerbook/contracts-evm';
import type { Address, Hex } from '@makerbook/contracts-primitives';
import { partitionOf } from '@makerbook/kafka';
import { connectPostgres } from '@makerbook/postgres';
import { Contract, type NonceManager } from 'ethers';
import type { Watcher } from './run.js';
import { addressOf, Stage, type StoredFact, until } from './testing/stage-chain.js';

const ERC20 = deployArtifacts.TestToken.abi;
const PROTOCOL = deployArtifacts.LimitOrderProtocol.abi;

let stage: Stage;
let maker: NonceManager;
let token: Address;
const watchers: Watcher[] = [];

beforeAll(async () => {
  stage = await Stage.open();
  token = await stage.deploy(deployArtifacts.TestToken, 'Making', 'MAK', 18);
  maker = await stage.createAccount();
  await stage.send(maker, token, ERC20, 'approve', stage.protocolAddress, 10n ** 30n);
});
afterEach(async () => {
  for (const watcher of watchers.splice(0)) await watcher.stop();
});
afterAll(() => stage.close());

const watch = async (settings: Record<string, string> = {}) => {
  const watcher = await stage.watch(settings);
  watchers.push(watcher);
  return watcher;
};
const stopAll = async () => {
  for (const watcher of watchers.splice(0)) await watcher.stop();
};
const mint = (amount: bigint) => stage.send(stage.taker, token, ERC20, 'mint', addressOf(maker), amount);
const spend = (amount: bigint) => stage.send(maker, token, ERC20, 'transfer', addressOf(stage.taker), amount);
const post = async (amount: bigint): Promise<Hex> =>
  stage.submit(await stage.sign(maker, { making: { token, amount } }));
const reaches = (orderHash: Hex, status: string) =>
  until(`${orderHash} is ${status}`, () => stage.state(orderHash)?.status === status);
const blocksIn = (partition: number): number[] =>
  stage.facts.flatMap(({ partition: at, fact }) =>
    at === partition && fact.type === 'BlockProcessed' ? [fact.block.number] : [],
  );

describe('a watcher that was away', () => {
  test('for some blocks resumes with the block after its last one, and misses nothing of them', async () => {
    await watch();
    await mint(50n);
    const orderHash = await post(100n);
    await reaches(orderHash, 'INACTIVE');
    await stage.settled();
    await stopAll();
    await mint(50n);
    await stage.mine(5);
    await spend(1n);
    await mint(1n);
    const posted = await post(20n);
    await watch();
    await reaches(posted, 'ACTIVE');
    await stage.settled();
    expect(stage.state(orderHash)?.status).toBe('ACTIVE');
    for (const partition of [0, 1, 2]) {
      const blocks = blocksIn(partition);
      expect(blocks).toEqual(blocks.map((_, index) => (blocks[0] ?? 0) + index));
    }
  });

  test('for long reads all pairs at the head, and of the missed blocks only what the protocol says', async () => {
    const taking = await stage.deploy(deployArtifacts.TestToken, 'Taking', 'TAK', 18);
    await stage.send(stage.taker, taking, ERC20, 'mint', addressOf(stage.taker), 1000n);
    await stage.send(stage.taker, taking, ERC20, 'approve', stage.protocolAddress, 1000n);
    await mint(1000n);
    await watch();
    const amounts = { making: { token, amount: 100n }, taking: { token: taking, amount: 100n } };
    const filled = await stage.sign(maker, amounts);
    const cancelled = await stage.sign(maker, amounts);
    const poor = await post(5000n);
    await stage.submit(filled);
    await stage.submit(cancelled);
    await reaches(filled.orderHash, 'ACTIVE');
    await stage.settled();
    await stopAll();

    const fillArgs = [filled.order, filled.signature, 60n, 1000n] as const;
    await stage.send(stage.taker, stage.protocolAddress, PROTOCOL, 'fillOrder', ...fillArgs);
    await stage.mine(30);
    await stage.send(maker, stage.protocolAddress, PROTOCOL, 'cancelOrder', cancelled.order);
    await mint(5000n);
    await stage.mine(30);
    const late = await post(7n);
    const known = blocksIn(0).length;
    await watch({ CATCH_UP_BLOCKS_MAX: '10' });
    await stage.settled();
    await reaches(late, 'ACTIVE');
    expect(stage.state(cancelled.orderHash)).toEqual({ status: 'REMOVED', reason: 'CANCELLED_ONCHAIN' });
    expect(stage.remaining(filled.orderHash)).toBe(40n);
    expect(stage.state(poor)?.status).toBe('ACTIVE');
    // The head alone.
    expect(blocksIn(0).length).toBe(known + 1);
    await stage.mine(2);
    await stage.settled();
    expect(blocksIn(0).length).toBe(known + 3);
  });

  test('knows what was posted while a maker was in quarantine, and reads it again once that is lifted', async () => {
    const other = await stage.beside();
    const postgres = connectPostgres({ url: other.databaseUrl });
    try {
      const owner = addressOf(maker);
      const orderHash = await other.submit(await other.sign(maker, { making: { token, amount: 7n } }));
      await until('the order is in the log', () => other.facts.length === 1);
      const insert = (rows: string) => postgres.query(rows, [partitionOf(owner, 3), owner.slice(2)]);
      await insert(`with projected as (insert into projections (partition, next_offset, block_number, block_timestamp)
        values ($1, 1, null, 0))
        insert into makers (maker, partition, admission, quarantined_offset, quarantine_reason, quarantine_clock)
        values (decode($2, 'hex'), $1, 'ADMITTED', 0, 'a bug', '{}')`);
      watchers.push(await other.watch());
      const readings = () =>
        other.facts.filter(({ fact }) => fact.type === 'MakerObserved' && fact.orders[0]?.orderHash === orderHash);
      await until('it is read', () => readings().length === 1);
      await other.append({ type: 'QuarantineLifted', maker: owner, cause: { kind: 'operator', commandId: 'release' } });
      await until('it is read again', () => readings().length === 2);
    } finally {
      await stopAll();
      await postgres.close();
      await other.close();
    }
  });

  test('goes on where a crash left some partitions without the last block', async () => {
    await watch();
    await stage.mine();
    await stage.settled();
    await stopAll();
    // Acts like a crash between two partitions: the repeat leaves out only those that already have the block.
    const before = [0, 1, 2].map((partition) => blocksIn(partition).length);
    await stage.mine();
    await stage.publishBlockTo(1);
    await until('partition 1 is ahead', () => blocksIn(1).length === (before[1] ?? 0) + 1);
    await watch();
    await stage.settled();
    expect([0, 1, 2].map((partition) => blocksIn(partition).length)).toEqual(before.map((count) => count + 1));
  });
});

describe('a chain that contradicts the log', () => {
  const main = fileURLToPath(new URL('./main.js', import.meta.url));
  const run = async (of: Stage): Promise<{ code: unknown; stderr: string; stdout: string }> => {
    const child = spawn(process.execPath, [main], {
      env: { PATH: process.env['PATH'], ...of.environment() },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let stderr = '';
    let stdout = '';
    child.stderr.on('data', (chunk) => {
      stderr += chunk;
    });
    child.stdout.on('data', (chunk) => {
      stdout += chunk;
    });
    const timer = setTimeout(() => child.kill('SIGKILL'), 180_000);
    const [code] = await once(child, 'close');
    clearTimeout(timer);
    return { code, stderr, stdout };
  };

  /** One for each partition: what is said of them stands there. */
  const openMakers = async (of: Stage): Promise<NonceManager[]> => {
    const makers = new Map<number, NonceManager>();
    while (makers.size < 3) {
      const one = await of.createAccount();
      makers.set(partitionOf(addressOf(one), 3), one);
    }
    return [...makers.values()];
  };
  /** Ids of all that each partition says of the chain, up to a mark that is set now. */
  const readLog = async (of: Stage, makers: readonly NonceManager[]): Promise<string[][]> => {
    const commandId = `mark-${of.facts.length}`;
    const cause = { kind: 'operator', commandId } as const;
    for (const one of makers) await of.append({ type: 'MakerAdmitted', maker: addressOf(one), cause });
    const isMark = ({ fact }: StoredFact) => fact.type === 'MakerAdmitted' && isDeepStrictEqual(fact.cause, cause);
    await until('the log is read', () => of.facts.filter(isMark).length === makers.length);
    return [0, 1, 2].map((partition) =>
      of.facts.filter((stored) => stored.partition === partition && 'block' in stored.fact).map(({ id }) => id),
    );
  };

  test('halts the process with a clear error, and nothing of the wrong block is published', async () => {
    const other = await Stage.open();
    try {
      const sold = await other.deploy(deployArtifacts.TestToken, 'Making', 'MAK', 18);
      const makers = await openMakers(other);
      const post = async (seller: NonceManager) =>
        other.submit(await other.sign(seller, { making: { token: sold, amount: 10n } }));
      const orders = await Promise.all(makers.map(post));
      const running = run(other);
      await until('the orders are read', () => orders.every((hash) => other.state(hash)?.status === 'INACTIVE'));
      await other.mine(2);
      await other.settled();
      const fork = await other.provider.send('evm_snapshot', []);
      await other.mine(3);
      await other.settled();
      const before = await readLog(other, makers);

      await other.provider.send('evm_revert', [fork]);
      await other.provider.send('evm_increaseTime', [1000]);
      await other.mine(3);
      // New orders cannot be read any more: the block that they would be read at is gone.
      const unread = await Promise.all(makers.map(post));
      // The first block that the watcher has not seen changes what every maker has.
      await other.provider.send('evm_setAutomine', [false]);
      const minted = new Contract(sold, ERC20, other.taker).getFunction('mint');
      for (const one of makers) await minted.send(addressOf(one), 1000n, { gasLimit: 100_000 });
      await other.mine();
      await other.provider.send('evm_setAutomine', [true]);
      for (const one of makers) expect(await other.balanceOf(sold, addressOf(one))).toBe(1000n);
      await other.mine(6);
      const { code, stderr } = await running;
      expect(code).toBe(1);
      expect(stderr).toMatch(/reorganisation of final blocks/);
      expect(await readLog(other, makers)).toEqual(before);

      const again = await run(other);
      expect(again.code).toBe(1);
      expect(again.stderr).toMatch(/was published/);
      expect(again.stdout).toMatch(/the watcher halts/);
      expect(await readLog(other, makers)).toEqual(before);
      expect(unread.map((hash) => other.state(hash))).toEqual(makers.map(() => ({ status: 'VALIDATING' })));
    } finally {
      await other.close();
    }
  });
});
