import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { deployArtifacts } from '@makerbook/contracts-evm';
import type { Address } from '@makerbook/contracts-primitives';
import type { LogRecord } from '@makerbook/kafka';
import { createChance, type Gate, startMisbehavingNode, until } from '@makerbook/parts';
import { silentLogger } from '@makerbook/telemetry';
import type { NonceManager } from 'ethers';
import type { Watcher } from '../run.js';
import { cutBlockgroup, readBlockgroup } from '../testing/encode-blockgroup.js';
import { feedTopic } from '../testing/feed-topic.js';
import { mineTogether } from '../testing/mine-together.js';
import { addressOf, Stage } from '../testing/stage-chain.js';

const ERC20 = deployArtifacts.TestToken.abi;
const PROTOCOL = deployArtifacts.LimitOrderProtocol.abi;
const ALL = [...ERC20, ...PROTOCOL].filter(({ type }) => type !== 'constructor');
/** The number of partitions of maker-events and of the node's topic. */
const PARTITIONS = 3;

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
  gate = await startMisbehavingNode(polling.anvil.rpcUrl, (calls, forward) => {
    blocksAsked += calls.filter(({ method }) => method === 'eth_getLogs').length;
    return forward(calls);
  });
  // The watcher reads any compression.
  const config = { 'compression.type': 'lz4' };
  await following.log.createTopics([{ name: topic, partitions: PARTITIONS, replicationFactor: 1, config }]);
});
/** Stops all watchers. While one publishes, a newly started one is a standby and asks for no block. */
const endWatchers = async () => {
  for (const watcher of watchers.splice(0)) await watcher.stop();
};
afterAll(async () => {
  await endWatchers();
  await gate.close();
  await following.close();
  await polling.close();
});

/** Shuffles into the same order in every run. */
function shuffle<T>(list: readonly T[]): T[] {
  const { below } = createChance(12345);
  return list
    .map((each) => ({ each, rank: below(1_000_000) }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ each }) => each);
}

const feed = (records: readonly Omit<LogRecord, 'topic'>[]) => feedTopic(following.log, topic, records);
/** The records of a block as the node writes it: in the regular form, the legacy form, or both (as two nodes would). */
const cutAs = (form: 'regular' | 'legacy' | 'both', number: number, message: Buffer) => {
  const regular = { segmentBytes: 700, producerId: 'producer-a' };
  const legacy = { segmentBytes: 300, producerId: undefined };
  const cuts = { regular: [regular], legacy: [legacy], both: [regular, legacy] };
  const records = cuts[form].flatMap((cut) => cutBlockgroup(number, message, cut));
  return records.map((record) => ({ ...record, partition: number % PARTITIONS }));
};
/** Facts that depend on blocks alone. Leaves out readings of new orders, because their block depends on timing. */
const blockFacts = (stage: Stage, from: number, partition: number) =>
  stage.facts
    .filter((stored) => stored.partition === partition)
    .filter(({ fact }) => fact.type === 'BlockProcessed' || ('block' in fact && fact.cause.kind === 'log'))
    .filter(({ fact }) => 'block' in fact && fact.block.number > from)
    .map(({ bytes }) => bytes);

describe('blocks of a Kaia node’s topic', () => {
  test('give the same facts as JSON-RPC, byte for byte, even if cut, shuffled, repeated and with a gap', async () => {
    const taking = await polling.deploy(deployArtifacts.TestToken, 'Taking', 'TAK', 18);
    const token: Address = await polling.deploy(deployArtifacts.TestToken, 'Making', 'MAK', 18);
    const taker = polling.taker;
    await polling.send(taker, taking, ERC20, 'mint', addressOf(taker), 10n ** 30n);
    await polling.send(taker, taking, ERC20, 'approve', polling.protocolAddress, 10n ** 30n);
    const makers = [
      await polling.createAccount(0),
      await polling.createAccount(1),
      await polling.createAccount(2),
    ] as const;
    const [first, second, third] = makers;
    const ofTopic = { KAIA_TOPIC: topic, KAIA_GAP_MS_MAX: '5000', RPC_URL: gate.url };
    watchers.push(await polling.watch(), await following.watch({ ...ofTopic, KAIA_SILENCE_MS_MAX: '600000' }));
    await polling.settled();
    await following.settled();
    const from = await polling.provider.getBlockNumber();

    const post = async (maker: NonceManager) => {
      const terms = { making: { token, amount: 100n }, taking: { token: taking, amount: 100n } };
      const signed = await polling.sign(maker, terms);
      for (const stage of [polling, following]) {
        await stage.submit(signed);
        await until('the order is read', () => stage.state(signed.orderHash)?.status === 'INACTIVE');
      }
      return { maker, signed };
    };
    const [filled, cancelled, spoilt] = [await post(first), await post(second), await post(third)];
    const fill = ({ signed: { order, signature } }: typeof filled, amount: bigint) => {
      return [order, signature, amount, 10n ** 30n] as const;
    };

    for (const maker of [first, second, third]) {
      await polling.send(maker, token, ERC20, 'approve', polling.protocolAddress, 1000n);
      await polling.send(taker, token, ERC20, 'mint', addressOf(maker), 500n);
      await polling.mine();
    }
    // Each transaction in this block touches a different maker or order.
    const protocol = polling.protocolAddress;
    await mineTogether(polling, ALL, [
      { signer: taker, to: protocol, method: 'fillOrder', args: fill(filled, 5n) },
      { signer: second, to: protocol, method: 'cancelOrder', args: [cancelled.signed.order] },
      { signer: taker, to: token, method: 'mint', args: [addressOf(third), 5n] },
      { signer: third, to: token, method: 'approve', args: [protocol, 7n] },
    ]);
    await polling.send(taker, protocol, PROTOCOL, 'fillOrder', ...fill(filled, 40n));
    await polling.send(spoilt.maker, protocol, PROTOCOL, 'cancelAllOrders');
    await polling.mine(2);
    const head = await polling.provider.getBlockNumber();
    const records: Omit<LogRecord, 'topic'>[] = [];
    for (let number = from + 1; number <= head; number += 1) {
      if (number === from + 4) continue;
      const form = (['regular', 'legacy', 'both', 'regular'] as const)[(number - from) % 4] ?? 'regular';
      records.push(...cutAs(form, number, await readBlockgroup(polling.provider, number)));
    }
    blocksAsked = 0;
    await feed(shuffle([...records, ...records.slice(0, 30)]));
    await polling.settled();
    await following.settled();
    let count = 0;
    for (const [partition, maker] of makers.entries()) {
      const expected = blockFacts(polling, from, partition);
      expect(blockFacts(following, from, partition)).toEqual(expected);
      expect(expected.join()).toContain(addressOf(maker));
      count += expected.length;
    }
    expect(count).toBeGreaterThan(3 * (head - from) + 10);
    // One block is missing from the topic, and one block of the topic is compared with JSON-RPC.
    expect(blocksAsked).toBeLessThanOrEqual(2);
    for (const { signed } of [filled, cancelled, spoilt])
      expect(following.state(signed.orderHash)).toEqual(polling.state(signed.orderHash));
  });

  test('are not read if they are older than the start: JSON-RPC gives what was missed', async () => {
    await feed([{ partition: 0, key: '99999999', value: Buffer.from('no block'), headers: {} }]);
    await polling.mine(5);
    const told: string[] = [];
    const logger = { ...silentLogger, warn: (_: unknown, text: string) => void told.push(text) };
    const watcher = await following.watch({ KAIA_TOPIC: topic, KAIA_SILENCE_MS_MAX: '200' }, logger);
    await following.settled();
    expect(told).not.toContain('unreadable block');
    await until('what comes later is read', async () => {
      await feed([{ partition: 0, key: '99999999', value: Buffer.from('no block'), headers: {} }]);
      return told.includes('unreadable block');
    });
    await watcher.stop();
  });

  test.each(['holder', 'standby'])(
    'of another network are recognised at the first such block, and a %s halts',
    async (role) => {
      await endWatchers();
      if (role === 'standby') watchers.push(await following.watch());
      if (role === 'standby') await following.settled();
      const watcher = await following.watch({ KAIA_TOPIC: topic });
      await following.settled();
      const number = await polling.provider.getBlockNumber();
      const real = JSON.parse(String(await readBlockgroup(polling.provider, number)));
      const foreign = { ...real.result, number: `0x${(number + 5000).toString(16)}` };
      const message = Buffer.from(JSON.stringify({ blockNumber: number + 5000, result: foreign }));
      const records = cutBlockgroup(number + 5000, message, { segmentBytes: 1_000_000, producerId: 'other' });
      let error: Error | undefined;
      void watcher.failed.then((failure) => {
        error = failure;
      });
      // A watcher that has not reached the end of the topic yet starts after these records, so send them again.
      await until('the watcher halts', async () => {
        if (error === undefined) await feed(records);
        return error !== undefined;
      });
      expect(error?.message).toMatch(/is 5\d\d\d blocks ahead of JSON-RPC: is it of another network/);
      await watcher.stop();
    },
  );
});
