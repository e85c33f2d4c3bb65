import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { BlockRef } from '@makerbook/contracts-events';
import type { Address, Hex } from '@makerbook/contracts-primitives';
import type { Log } from '@makerbook/kafka';
import { type DeployedContracts, deployContracts } from '@makerbook/local-stack';
import type { Postgres } from '@makerbook/postgres';
import { JsonRpcProvider, toBeHex } from 'ethers';
import { erc20 } from '../kit/drive-chain.js';
import { readMetrics, sumOfMetric } from '../kit/read-metrics.js';
import { readCpu, readMemory } from '../kit/read-processes.js';
import type { Services } from '../kit/run-services.js';
import { type Chain, openChain } from '../simulation/drive-chain.js';
import { PARTITIONS, withOwnParts } from './open-parts.js';
import { type BenchOptions, compare, type Figure, state } from './report.js';
import { type SeededLog, seedLog, TAIL_BLOCKS } from './seed-log.js';

const OLD_RECORDS = 1_000_000;
const OLD_ORDERS = 1_000;
const STRANGERS_TRANSFERS = 20;
const MISSED_BLOCKS = 500;
const IDLE_MS = 10_000;
const BLOCK_MS = 100;
const PROCESSED_MS_MAX = 60_000;
const STRANGER = '0x00000000000000000000000000000000000057a1';
const WATCHER = 'watcher';

interface Parts {
  readonly log: Log;
  readonly postgres: Postgres;
  readonly chain: Chain;
  readonly services: Services;
  readonly token: Address;
}

/**
 * The chain-watcher as a process of its own, on a log with so many open orders: what its start takes, what memory it
 * needs, and what a block costs that touches none of them.
 */
export async function benchWatcher({ isQuick }: BenchOptions): Promise<readonly Figure[]> {
  const scale = isQuick ? 50 : 1;
  return withChain(async (parts) => {
    const [few, many] = [10_000 / scale, 1_000_000 / scale];
    const blocks = isQuick ? 50 : 300;
    const ofFew = await measureOrders(parts, few, blocks);
    const ofMany = await measureOrders(parts, many, blocks);
    const lateMs = await measureMissed(parts, few);
    const old = { orders: OLD_ORDERS, blocks: Math.ceil(OLD_RECORDS / scale / PARTITIONS) };
    const fromRows = await measureStart(parts, { ...old, holds: { log: true, rows: true } });
    const fromLog = await measureStart(parts, { ...old, holds: { log: true, rows: false } });
    return [
      ...by(`${many} open orders, by ${few}`, ofMany, ofFew),
      state(`${few} open orders: start ${MISSED_BLOCKS} blocks later`, 's', lateMs / 1000),
      ...by(
        `${OLD_ORDERS} open orders, start from a log of ${old.blocks * PARTITIONS} records, by from the rows`,
        fromLog,
        fromRows,
      ),
    ];
  });
}

/** What was measured of a watcher, by unit and name. */
type Measured = Readonly<Record<string, { readonly unit: string; readonly value: number }>>;

function by(what: string, values: Measured, floors: Measured): readonly Figure[] {
  return Object.entries(values).map(([name, { unit, value }]) =>
    compare(`${what}: ${name}`, unit, [{ value, floor: floors[name]?.value ?? Number.NaN }]),
  );
}

async function measureOrders(parts: Parts, orders: number, blocks: number): Promise<Measured> {
  const { services } = parts;
  const settings = await seed(parts, { orders, blocks: 2 * TAIL_BLOCKS, holds: { log: false, rows: true } });
  const startMs = await startWatcher(services, settings);
  const { pid } = services.processOf(WATCHER);
  const started = readMemory(pid);
  const before = readCpu([pid])[0] ?? 0;
  await pause(IDLE_MS);
  const idlePerMs = ((readCpu([pid])[0] ?? 0) - before) / IDLE_MS;
  const empty = await measureBlocks(parts, blocks, 0, idlePerMs);
  const strange = await measureBlocks(parts, blocks, STRANGERS_TRANSFERS, idlePerMs);
  const { rssMb } = readMemory(pid);
  await services.end(WATCHER, 'SIGTERM');
  return {
    start: { unit: 's', value: startMs / 1000 },
    'RSS when ready': { unit: 'MB', value: started.rssMb },
    'RSS after the blocks': { unit: 'MB', value: rssMb },
    idle: { unit: 'ms of CPU per s', value: idlePerMs },
    'empty block': { unit: 'ms of CPU', value: empty.cpuMs },
    [`block of ${STRANGERS_TRANSFERS} transfers of strangers`]: { unit: 'ms of CPU', value: strange.cpuMs },
    'empty block, at the node': { unit: 'requests', value: empty.requests },
  };
}

/** Milliseconds of a start that finds blocks which it has missed. */
async function measureMissed(parts: Parts, orders: number): Promise<number> {
  const { services, chain } = parts;
  const settings = await seed(parts, { orders, blocks: 2 * TAIL_BLOCKS, holds: { log: false, rows: true } });
  await startWatcher(services, settings);
  await services.end(WATCHER, 'SIGTERM');
  for (let missed = 0; missed < MISSED_BLOCKS; missed += 1) await chain.mine(1);
  const startMs = await startWatcher(services, settings);
  await services.end(WATCHER, 'SIGTERM');
  return startMs;
}

async function measureBlocks(
  { services, chain, token }: Parts,
  blocks: number,
  transfers: number,
  idlePerMs: number,
): Promise<{ readonly cpuMs: number; readonly requests: number }> {
  const { pid, opsUrl } = services.processOf(WATCHER);
  const startedAt = performance.now();
  const cpu = readCpu([pid])[0] ?? 0;
  const requests = await readMetric(opsUrl, 'rpc_requests_total');
  const data = erc20.encodeFunctionData('transfer', [token, 1]);
  for (let block = 0; block < blocks; block += 1) {
    for (let n = 0; n < transfers; n += 1) await chain.send({ from: STRANGER, to: token, data });
    await chain.mine(1);
    await pause(BLOCK_MS);
  }
  const deadline = performance.now() + PROCESSED_MS_MAX;
  while ((await readMetric(opsUrl, 'processed_block_number')) < chain.head().number) {
    if (performance.now() > deadline) throw new Error(`block ${chain.head().number} is not processed`);
    await pause(BLOCK_MS);
  }
  const used = (readCpu([pid])[0] ?? 0) - cpu - idlePerMs * (performance.now() - startedAt);
  return {
    cpuMs: used / 1000 / blocks,
    requests: ((await readMetric(opsUrl, 'rpc_requests_total')) - requests) / blocks,
  };
}

async function measureStart(parts: Parts, seeded: Pick<SeededLog, 'orders' | 'blocks' | 'holds'>): Promise<Measured> {
  const { services } = parts;
  const settings = await seed(parts, seeded);
  const startMs = await startWatcher(services, settings);
  const { pid, opsUrl } = services.processOf(WATCHER);
  const [cpu = 0] = readCpu([pid]);
  const measured = {
    start: { unit: 's', value: startMs / 1000 },
    'CPU of the start': { unit: 'ms of CPU', value: cpu / 1000 },
    'records of the log read': { unit: 'records', value: await readMetric(opsUrl, 'log_records_total') },
    'RSS when ready': { unit: 'MB', value: readMemory(pid).rssMb },
  };
  await services.end(WATCHER, 'SIGTERM');
  return measured;
}

/** @returns the settings of a watcher for this log */
async function seed(
  { log, postgres, chain, token }: Parts,
  seeded: Pick<SeededLog, 'orders' | 'blocks' | 'holds'>,
): Promise<Record<string, string>> {
  const prefix = `bench-${randomBytes(4).toString('hex')}.`;
  const head = await headOf(chain);
  await seedLog(log, postgres, { ...seeded, prefix, partitions: PARTITIONS, token, head });
  return { TOPIC_PREFIX: prefix };
}

/** @returns milliseconds from the start of the process until it says that it is ready */
async function startWatcher(services: Services, settings: Record<string, string>): Promise<number> {
  const startedAt = performance.now();
  await services.start(WATCHER, 'chain-watcher', settings);
  await services.ready([WATCHER]);
  return performance.now() - startedAt;
}

async function withChain<T>(work: (parts: Parts) => Promise<T>): Promise<T> {
  return withOwnParts(async ({ log, postgres, services, closing }) => {
    let contracts: DeployedContracts | undefined;
    const chain = await openChain(async (rpcUrl) => {
      contracts = await deployContracts({ rpcUrl, serviceName: 'Bench', quoteSigners: [] });
      const provider = new JsonRpcProvider(rpcUrl);
      await provider.send('anvil_mine', [toBeHex(Math.ceil(OLD_RECORDS / PARTITIONS))]);
      provider.destroy();
    });
    closing.push(chain.stop);
    const token = contracts?.tokens[0]?.address as Address;
    await chain.ask('anvil_setBalance', STRANGER, toBeHex(10n ** 24n));
    const data = erc20.encodeFunctionData('mint', [STRANGER, 10n ** 30n]);
    await chain.send({ from: STRANGER, to: token, data });
    await chain.mine(1);
    const started = services({
      RPC_URL: chain.rpcUrl,
      RPC_WS_URL: chain.wsUrl,
      LIMIT_ORDER_PROTOCOL_ADDRESS: contracts?.limitOrderProtocol ?? '',
      MULTICALL_ADDRESS: contracts?.multicall ?? '',
      // The chain makes blocks on demand, and nothing that is silent changes.
      READY_LAG_SECONDS_MAX: '0',
      BLOCK_AHEAD_SECONDS_MAX: '1000000',
      SWEEP_PAIRS_PER_SECOND: '0',
    });
    return work({ log, postgres, chain, services: started, token });
  });
}

async function headOf(chain: Chain): Promise<BlockRef> {
  const block = (await chain.ask('eth_getBlockByNumber', 'latest', false)) as Record<
    'number' | 'hash' | 'timestamp',
    Hex
  >;
  return { number: Number(block.number), hash: block.hash, timestamp: Number(block.timestamp) };
}

/** The sum of its series. */
async function readMetric(opsUrl: string, name: string): Promise<number> {
  return sumOfMetric(await readMetrics(opsUrl), `chain_watcher_${name}`);
}
