import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Address, deployArtifacts } from '@makerbook/contracts-evm';
import type { LogRecord } from '@makerbook/kafka';
import { silentLogger } from '@makerbook/telemetry';
import type { Watcher } from './run.js';
import { cutBlockgroup, readBlockgroup } from './testing/encode-blockgroup.js';
import { type Gate, startGate } from './testing/gate-node.js';
import { readGoldenBlockgroups } from './testing/read-golden-blockgroups.js';
import { addressOf, Stage, until } from './testing/stage-chain.js';

const ERC20 = deployArtifacts.TestToken.abi;
const PROTOCOL = deployArtifacts.LimitOrderProtocol.abi;

let polling: Stage;
let following: Stage;
let topic: string;
let gate: Gate;
/** How often the watcher of the topic asked JSON-RPC for the logs of a block. */
let blocksAsked = 0;
const watchers: Watcher[] = [];

beforeAll(async () => {
  polling = await Stage.open();
  following = await polling.beside();
  topic = `${following.prefix}klaytn.chaindatafetcher.en-0.blockgroup.v1`;
  gate = await startGate(polling.anvil.rpcUrl, async (calls) => {
    blocksAsked += calls.filter(({ method }) => method === 'eth_getLogs').length;
    return undefined;
  });
  await following.log.createTopics([{ name: topic, partitions: 1, replicationFactor: 1, config: {} }]);
});
afterAll(async () => {
  for (const watcher of watchers) await watcher.stop();
  await gate.close();
  await following.close();
  await polling.close();
});

/** The same order of a shuffle in every run. */
function shuffle<T>(list: readonly T[]): T[] {
  let state = 12345;
  return list
    .map((each) => {
      state = (Math.imul(state, 1103515245) + 12345) >>> 0;
      return { each, rank: state };
    })
    .sort((a, b) => a.rank - b.rank)
    .map(({ each }) => each);
}

const feed = async (records: readonly Omit<LogRecord, 'topic'>[]) => {
  // Headers are appended as UTF-8, which would make two bytes of one above 0x7f.
  expect(records.flatMap(({ headers }) => Object.values(headers)).join('')).toMatch(/^[\0-\x7f]*$/);
  const appender = following.log.createAppender({ timeoutMs: 60_000 });
  // At once, so that a slow machine leaves no gap between them.
  for (let from = 0; from < records.length; from += 100) {
    await appender.append(records.slice(from, from + 100).map((record) => ({ topic, ...record })));
  }
  await appender.close();
};
/** The names of an object, in their order, each with the kind of its value. */
const formOf = (object: object) =>
  Object.entries(object).map(([name, value]) => [
    name,
    Array.isArray(value) ? 'list' : String(value).startsWith('0x') ? 'hex' : typeof value,
  ]);
/** What follows from blocks alone: not the reading of new orders, whose block is a matter of timing. */
const blockFacts = (stage: Stage, from: number, partition: number) =>
  stage.facts
    .filter((stored) => stored.partition === partition)
    .filter(({ fact }) => fact.type === 'BlockProcessed' || ('block' in fact && fact.cause.kind === 'log'))
    .filter(({ fact }) => 'block' in fact && fact.block.number > from)
    .map(({ bytes }) => bytes);

describe('blocks of a Kaia node’s topic', () => {
  test('are written here in the form in which the node’s own code writes them', async () => {
    const token = await polling.deploy(deployArtifacts.TestToken, 'Any', 'ANY', 18);
    await polling.send(polling.taker, token, ERC20, 'mint', addressOf(polling.taker), 1n);
    const ours = JSON.parse(String(await readBlockgroup(polling.provider, await polling.provider.getBlockNumber())));
    const golden = readGoldenBlockgroups().find(({ name }) => name === 'logs of every kind of transaction');
    const node = JSON.parse(
      Buffer.concat(golden?.records.map(({ value }) => value ?? Buffer.alloc(0)) ?? []).toString(),
    );
    const [mint] = ours.result.transactions;
    const like = node.result.transactions.find(
      ({ type, logs }: { type: string; logs: [] }) => type === mint.type && logs.length > 0,
    );
    expect(formOf(ours)).toEqual(formOf(node));
    expect(formOf(ours.result)).toEqual(formOf(node.result));
    expect(formOf(mint)).toEqual(formOf(like));
    expect(formOf(mint.logs[0])).toEqual(formOf(like.logs[0]));
    expect(formOf(mint.signatures[0])).toEqual(formOf(like.signatures[0]));
  });

  test('cut, shuffled, repeated and with a gap, give the same facts as JSON-RPC, byte for byte', async () => {
    const taking = await polling.deploy(deployArtifacts.TestToken, 'Taking', 'TAK', 18);
    const token: Address = await polling.deploy(deployArtifacts.TestToken, 'Making', 'MAK', 18);
    const wrapped: Address = await polling.deploy(deployArtifacts.WrappedNative, 'Wrapped', 'WRP');
    const taker = polling.taker;
    await polling.send(taker, taking, ERC20, 'mint', addressOf(taker), 10n ** 30n);
    await polling.send(taker, taking, ERC20, 'approve', polling.protocolAddress, 10n ** 30n);
    const makers = [await polling.createAccount(), await polling.createAccount(), await polling.createAccount()];
    const ofTopic = { KAIA_TOPIC: topic, KAIA_GAP_MS_MAX: '5000', RPC_URL: gate.url };
    watchers.push(await polling.watch(), await following.watch({ ...ofTopic, KAIA_SILENCE_MS_MAX: '600000' }));
    await polling.settled();
    await following.settled();
    const from = await polling.provider.getBlockNumber();

    const orders = [];
    for (const maker of makers) {
      for (const making of [token, wrapped]) {
        const terms = { making: { token: making, amount: 100n }, taking: { token: taking, amount: 100n } };
        const signed = await polling.sign(maker, terms);
        orders.push({ maker, signed });
        for (const stage of [polling, following]) {
          await stage.submit(signed);
          await until('the order is read', () => stage.state(signed.orderHash)?.status === 'INACTIVE');
        }
      }
    }
    for (const [n, { maker, signed }] of orders.entries()) {
      const making = signed.order.making.token;
      await polling.send(maker, making, ERC20, 'approve', polling.protocolAddress, 1000n);
      await polling.send(taker, making, ERC20, 'mint', addressOf(maker), 500n);
      if (n === 3) await polling.send(maker, polling.protocolAddress, PROTOCOL, 'cancelOrder', signed.order);
      else if (n === 4) await polling.send(maker, polling.protocolAddress, PROTOCOL, 'cancelAllOrders');
      else if (n < 3) {
        const args = [signed.order, signed.signature, BigInt(40 + 30 * n), 10n ** 30n] as const;
        await polling.send(taker, polling.protocolAddress, PROTOCOL, 'fillOrder', ...args);
      }
      await polling.mine();
    }
    const head = await polling.provider.getBlockNumber();
    const records: Omit<LogRecord, 'topic'>[] = [];
    for (let number = from + 1; number <= head; number += 1) {
      if (number === from + 4) continue;
      const message = await readBlockgroup(polling.provider, number);
      records.push(...cutBlockgroup(number, message, { segmentBytes: 700, producerId: 'producer-a' }));
      if (number % 2 === 0) {
        records.push(...cutBlockgroup(number, message, { segmentBytes: 333, producerId: undefined }));
      }
    }
    blocksAsked = 0;
    await feed(shuffle([...records, ...records.slice(0, 30)]));
    await polling.settled();
    await following.settled();
    let count = 0;
    for (const partition of [0, 1, 2]) {
      const expected = blockFacts(polling, from, partition);
      expect(blockFacts(following, from, partition)).toEqual(expected);
      count += expected.length;
    }
    expect(count).toBeGreaterThan(3 * (head - from) + 20);
    // One block is missing in the topic, and one of it is compared with JSON-RPC.
    expect(blocksAsked).toBeLessThanOrEqual(2);
    for (const { signed } of orders) expect(following.state(signed.orderHash)).toEqual(polling.state(signed.orderHash));
  });

  test('that do not come at all are asked of JSON-RPC', async () => {
    const watcher = await following.watch({ KAIA_TOPIC: topic, KAIA_SILENCE_MS_MAX: '200' });
    await polling.mine(3);
    await following.settled();
    await watcher.stop();
    expect(following.processedBlock()).toBe(await polling.provider.getBlockNumber());
  });

  test('of the time before the start are not read: JSON-RPC gives what was missed', async () => {
    await feed([{ partition: 0, key: '99999999', value: Buffer.from('no block'), headers: {} }]);
    await polling.mine(5);
    const told: string[] = [];
    const logger = { ...silentLogger, warn: (_: unknown, text: string) => void told.push(text) };
    const watcher = await following.watch({ KAIA_TOPIC: topic, KAIA_SILENCE_MS_MAX: '200' }, logger);
    await following.settled();
    expect(told).not.toContain('unreadable block');
    await feed([{ partition: 0, key: '99999999', value: Buffer.from('no block'), headers: {} }]);
    await until('what comes later is read', () => told.includes('unreadable block'));
    await watcher.stop();
  });

  test('of another network are told by the first of them, and the watcher halts', async () => {
    const watcher = await following.watch({ KAIA_TOPIC: topic });
    await following.settled();
    const number = await polling.provider.getBlockNumber();
    const real = JSON.parse(String(await readBlockgroup(polling.provider, number)));
    const foreign = { ...real.result, number: `0x${(number + 5000).toString(16)}` };
    const message = Buffer.from(JSON.stringify({ blockNumber: number + 5000, result: foreign }));
    await feed(cutBlockgroup(number + 5000, message, { segmentBytes: 1_000_000, producerId: 'other' }));
    const error = await watcher.failed;
    expect(error.message).toMatch(/is 5\d\d\d blocks ahead of JSON-RPC: is it of another network/);
    await watcher.stop();
  });
});
