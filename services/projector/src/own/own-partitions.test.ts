import { afterEach, describe, expect, test } from '@jest/globals';
import { monotonicMs } from '@makerbook/contracts-primitives';
import { until } from '@makerbook/parts';
import { PostgresUnavailable } from '@makerbook/postgres';
import { silentLogger } from '@makerbook/telemetry';
import type { Claims } from '../store/claim-work.js';
import { Ownership, type OwnershipParts } from './own-partitions.js';

type Asked = Parameters<OwnershipParts['claim']>[0];

const claims = (owned: readonly number[], surplus: readonly number[] = [], nextOffset = 7n): Claims => ({
  owned: new Set(owned),
  surplus: new Set(surplus),
  positions: new Map(owned.map((partition) => [partition, { nextOffset, blockParts: 0 }])),
});
const opened: Ownership[] = [];
/** Answers each look at the claims. */
let answer: (asked: Asked) => Claims;
let asked: Asked[];
let steps: string[];
let fatals: Error[];
/** How long the brokers have been silent, and whether one answers when it is asked. */
let kafka: { silentMs: number; isThere: boolean; retrying?: string };
/** The work on a partition waits for this before it ends. */
let ending: Promise<void>;

afterEach(async () => {
  answer = () => claims([]);
  await Promise.all(opened.splice(0).map((ownership) => ownership.stop()));
  expect(fatals).toEqual([]);
});

function own(says: (asked: Asked) => Claims): Ownership {
  answer = says;
  [asked, steps, fatals, ending] = [[], [], [], Promise.resolve()];
  kafka = { silentMs: 0, isThere: true };
  const ownership = new Ownership({
    claim: async (request) => {
      asked.push(request);
      return answer(request);
    },
    consumer: {
      assign: (partition) => void steps.push(`begin ${partition}`),
      revoke: async (partition, isLost) => {
        steps.push(`${isLost ? 'lose' : 'end'} ${partition}`);
        await ending;
      },
      health: () => {
        const lastPollAtMs = monotonicMs() - kafka.silentMs;
        const retrying = new Map(kafka.retrying === undefined ? [] : [[1, kafka.retrying]]);
        return { state: 'running', assigned: [], lastPollAtMs, lastTurnAtMs: monotonicMs(), retrying };
      },
    },
    isKafkaThere: async () => kafka.isThere,
    committedOf: () => ({ nextOffset: 7n, blockParts: 0 }),
    onRevoked: async (partition, isLost) => void steps.push(`${isLost ? 'drop' : 'commit'} ${partition}`),
    logger: silentLogger,
    onFatal: (error) => fatals.push(error),
  });
  opened.push(ownership);
  return ownership;
}

describe('an owner of partitions', () => {
  test('begins each of its partitions once, and is ready after the second look', async () => {
    const ownership = own(() => claims([1, 2]));
    expect(ownership.waitsFor()).toMatch(/first looks at claims/);
    await until(() => asked.length >= 3);
    expect(steps).toEqual(['begin 1', 'begin 2']);
    expect(asked.at(-1)).toEqual({ busy: [1, 2], isLeaving: false });
    expect(ownership.waitsFor()).toBeUndefined();
  });

  test('finishes the work on a partition that others are to have, and then gives it back at once', async () => {
    own(() => claims([1, 2]));
    await until(() => steps.length === 2);
    const { promise, resolve } = Promise.withResolvers<void>();
    ending = promise;
    answer = ({ busy }) => (busy.includes(2) ? claims([1, 2], [2]) : claims([1]));
    const before = asked.length;
    await until(() => asked.length > before + 2);
    expect(steps.slice(2)).toEqual(['end 2']);
    expect(asked.at(-1)).toMatchObject({ busy: [1, 2] });
    resolve();
    await until(() => asked.at(-1)?.busy.includes(2) === false);
    expect(steps.slice(2)).toEqual(['end 2', 'commit 2']);
    expect(asked.at(-1)).toMatchObject({ busy: [1] });
  });

  test('begins a partition again if Postgres has lost its last commits in a crash', async () => {
    own(() => claims([1]));
    await until(() => asked.length >= 3);
    answer = ({ busy }) => claims([1], [], busy.length > 0 ? 6n : 7n);
    await until(() => steps.includes('commit 1'));
    answer = () => claims([1], [], 7n);
    await until(() => steps.length >= 4);
    expect(steps).toEqual(['begin 1', 'end 1', 'commit 1', 'begin 1']);
  });

  test('drops a partition that another process has taken, and may get it again', async () => {
    own(() => claims([1]));
    await until(() => steps.length === 1);
    answer = () => claims([]);
    await until(() => steps.length === 3);
    expect(steps).toEqual(['begin 1', 'lose 1', 'drop 1']);
    await until(() => asked.at(-1)?.busy.length === 0);
    answer = () => claims([1]);
    await until(() => steps.length === 4);
    expect(steps.at(-1)).toBe('begin 1');
  });

  test('keeps what it has while Postgres does not answer, says so, and confirms nothing', async () => {
    const ownership = own(() => claims([1]));
    await until(() => steps.length === 1);
    answer = () => {
      throw new PostgresUnavailable('away');
    };
    await until(() => ownership.waitsFor() === 'away');
    let isConfirmed = false;
    const confirmed = ownership.confirmed().then(() => {
      isConfirmed = true;
    });
    const before = asked.length;
    await until(() => asked.length > before + 2);
    expect({ isConfirmed, steps }).toEqual({ isConfirmed: false, steps: ['begin 1'] });
    answer = () => claims([1]);
    await confirmed;
    expect(ownership.waitsFor()).toBeUndefined();
  });

  test('leaves everything to others at once while no broker answers, and takes its share again later', async () => {
    // While it is leaving, it gets nothing new, and all that it has is surplus.
    const ownership = own(({ busy, isLeaving }) => (isLeaving ? claims(busy, busy) : claims([1, 2])));
    await until(() => steps.length === 2);
    kafka = { silentMs: 10_001, isThere: false };
    // The work on the partitions may hang as long as Kafka does.
    const { promise, resolve } = Promise.withResolvers<void>();
    ending = promise;
    await until(() => steps.length === 4);
    expect(steps.slice(2)).toEqual(['lose 1', 'lose 2']);
    expect(asked.at(-1)).toEqual({ busy: [], isLeaving: true });
    expect(ownership.waitsFor()).toMatch(/no broker answers/);
    // Nothing is read any more, so the brokers do not count as silent.
    kafka.silentMs = 0;
    const before = asked.length;
    await until(() => asked.length > before + 1);
    expect(asked.at(-1)).toEqual({ busy: [], isLeaving: true });
    resolve();
    await until(() => steps.length === 6);
    kafka.isThere = true;
    await until(() => steps.length === 8);
    expect(steps.slice(4)).toEqual(['drop 1', 'drop 2', 'begin 1', 'begin 2']);
    expect(ownership.waitsFor()).toBeUndefined();
  });

  test('also leaves a partition that it cannot begin to read because its position is not known', async () => {
    own(({ busy, isLeaving }) => (isLeaving ? claims(busy, busy) : claims([1])));
    kafka = { silentMs: 9_500, isThere: false };
    const before = asked.length;
    await until(() => asked.length > before + 1);
    expect(steps).toEqual(['begin 1']);
    kafka = { silentMs: 0, isThere: false, retrying: 'its position is not known yet' };
    await until(() => steps.includes('lose 1'));
    kafka = { silentMs: 0, isThere: true };
    await until(() => steps.length === 4);
    expect(steps.at(-1)).toBe('begin 1');
  });

  test.each([
    ['a broker answers, though none has the partitions', true, () => claims([1])],
    ['no other process is there whom a broker answers', false, () => claims([1])],
    [
      'Postgres does not answer either',
      false,
      () => {
        throw new PostgresUnavailable('away');
      },
    ],
  ])('keeps what it has if %s', async (_where, isThere, says) => {
    own(() => claims([1]));
    await until(() => steps.length === 1);
    answer = says;
    kafka = { silentMs: 60_000, isThere };
    const before = asked.length;
    await until(() => asked.length > before + 2);
    expect(steps).toEqual(['begin 1']);
  });

  test('ends and gives back everything when it stops, and begins nothing more', async () => {
    const ownership = own(() => claims([1, 2]));
    await until(() => steps.length === 2);
    // The last answer before it leaves names one more partition.
    answer = ({ busy, isLeaving }) => claims(isLeaving ? busy : [1, 2, 3]);
    await ownership.stop();
    expect(steps.slice(2).sort()).toEqual(['commit 1', 'commit 2', 'end 1', 'end 2']);
    expect(asked.at(-1)).toEqual({ busy: [], isLeaving: true });
  });

  test('stops while Postgres is down', async () => {
    const ownership = own(() => claims([1]));
    await until(() => steps.length === 1);
    answer = () => {
      throw new PostgresUnavailable('away');
    };
    await ownership.stop();
    expect(steps).toEqual(['begin 1', 'end 1', 'commit 1']);
  });

  test('fails for good if Postgres refuses a statement', async () => {
    own(() => {
      throw new TypeError('refused');
    });
    await until(() => fatals.length > 0);
    expect(fatals.splice(0)).toEqual([new TypeError('refused')]);
  });
});
