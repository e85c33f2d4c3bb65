import { randomBytes } from 'node:crypto';
import { encodeMakerEvent, encodeMakersRecord, type TopicNames } from '@makerbook/contracts-events';
import { createOrderHasher } from '@makerbook/contracts-evm';
import { type Hex, ZERO_ADDRESS } from '@makerbook/contracts-primitives';
import { type Order, type OrderStatus, orderToBody, recordEnd, recordStart } from '@makerbook/domain';
import { type Appender, type Log, partitionOf } from '@makerbook/kafka';
import { type Postgres, type ProjectionCommit, saveProjection, takeProjection } from '@makerbook/postgres';
import {
  createPartitionRefresher,
  type OrderChange,
  type PartitionRefresher,
  type RedisConnection,
} from '@makerbook/redis';
import type { HDNodeWallet } from 'ethers';

export const domain = {
  serviceName: 'Test',
  chainId: 8217,
  verifyingContract: `0x${'12'.repeat(20)}`,
} as const;
export const partitions = 2;
const expiresAt = 4_000_000_000n;
const SLOW_MS = 30_000;

export interface FakeProjectorParts {
  readonly log: Log;
  readonly appender: Appender;
  readonly topics: TopicNames;
  readonly postgres: Postgres;
  readonly redis: RedisConnection;
}

/** The newest block of a partition; undefined: the one that it had. */
type BlockOf = (partition: number) => { readonly number: number; readonly timestamp: number } | undefined;

/** An order that the log holds. */
export interface Placed {
  readonly maker: Hex;
  readonly orderHash: Hex;
  readonly order: Order;
  readonly offset: bigint;
}

/** The projector played by hand: appends facts, and folds them into Postgres and Redis when `project` is called. */
export class FakeProjector {
  readonly #parts: FakeProjectorParts;
  readonly #refresher: PartitionRefresher;
  readonly #hasher = createOrderHasher(domain);
  /** Changes that `project` will write, oldest first. */
  #unprojected: { change: OrderChange; commit: Partial<ProjectionCommit> }[] = [];

  constructor(parts: FakeProjectorParts) {
    this.#parts = parts;
    this.#refresher = createPartitionRefresher(parts.redis);
  }

  async admit(maker: Hex, admission: 'ADMITTED' | 'SUSPENDED' = 'ADMITTED'): Promise<void> {
    const position = { partition: partitionOf(maker, partitions), offset: '0' };
    const message = encodeMakersRecord(
      { type: 'MakerView', maker, admission, nonce: null, position },
      { id: '1', source: '/test', timeMs: 0 },
    );
    await this.#parts.appender.append([
      { topic: this.#parts.topics.makers, partition: position.partition, ...message, key: maker },
    ]);
  }

  async place(
    wallet: HDNodeWallet,
    { count = 1, state = { status: 'VALIDATING' } as OrderStatus, expires = expiresAt } = {},
  ): Promise<Placed[]> {
    const maker = wallet.address.toLowerCase() as Hex;
    const partition = partitionOf(maker, partitions);
    const placements = Array.from({ length: count }, () => {
      const order: Order = {
        salt: BigInt(`0x${randomBytes(32).toString('hex')}`),
        nonce: 0n,
        expiresAt: expires,
        making: { token: `0x${'aa'.repeat(20)}`, amount: 10n ** 18n },
        taking: { token: `0x${'bb'.repeat(20)}`, amount: 2n * 10n ** 18n },
        maker,
        permittedTaker: ZERO_ADDRESS,
      };
      const orderHash: Hex = `0x${Buffer.from(this.#hasher.hashOrder(order)).toString('hex')}`;
      return { maker, order, orderHash, signature: `0x${'5a'.repeat(65)}` as Hex };
    });
    const records = placements.map(({ order, orderHash, signature }, index) => ({
      topic: this.#parts.topics.makerEvents,
      partition,
      ...encodeMakerEvent(
        {
          type: 'OrderSubmitted',
          maker,
          orderHash,
          order: orderToBody(order),
          signature,
          acceptedAtMs: 1,
          cause: { kind: 'request', requestId: 'r' },
        },
        { id: `r:${index}`, source: '/test', timeMs: 1 },
      ),
      key: maker,
    }));
    const appended = await this.#parts.appender.append(records);
    return placements.map(({ order, orderHash, signature }, index) => {
      const offset = appended[index]?.offset ?? -1n;
      const start = recordStart({ order, orderHash, signature });
      const expiresAtSeconds = Number(order.expiresAt);
      const row = { orderHash, maker, remaining: String(order.making.amount), reason: null, inBook: true };
      this.#unprojected.push({
        change: {
          kind: 'opened',
          maker,
          orderHash,
          salt: `0x${order.salt.toString(16)}`,
          acceptedOffset: offset,
          expiresAtSeconds,
          record: start + recordEnd(state),
        },
        commit: {
          opened: [
            {
              ...row,
              ...state,
              acceptedOffset: offset,
              acceptedAtMs: 1,
              expiresAtSeconds,
              makingToken: order.making.token,
              makingAmount: String(order.making.amount),
              isObserved: state.status !== 'VALIDATING',
              recordStart: start,
            },
          ],
        },
      });
      return { maker, order, orderHash, offset };
    });
  }

  async cancel({ maker, orderHash, order }: Placed): Promise<void> {
    const partition = partitionOf(maker, partitions);
    const cause = { kind: 'request' as const, requestId: 'c' };
    const event = encodeMakerEvent(
      { type: 'OrderCancelled', maker, orderHash, expiresAtSeconds: 4_000_000_000, cause },
      { id: 'c:0', source: '/test', timeMs: 1 },
    );
    await this.#parts.appender.append([{ topic: this.#parts.topics.makerEvents, partition, ...event, key: maker }]);
    this.#unprojected.push({
      change: { kind: 'removed', maker, orderHash, expiresAtSeconds: Number(order.expiresAt) },
      commit: { removed: [orderHash] },
    });
  }

  /** Folds what was placed and cancelled into Postgres, then Redis, as the projector does; and a block, where one is given. */
  async project({ refresh = true, block }: { refresh?: boolean; block?: BlockOf } = {}): Promise<void> {
    const ends = await this.#parts.log.endOffsets(this.#parts.topics.makerEvents, { timeoutMs: SLOW_MS });
    const pending = this.#unprojected;
    this.#unprojected = [];
    for (const [partition, newPos] of ends.entries()) {
      const { nextOffset, clock: before } = (await takeProjection(this.#parts.postgres, partition)).projection;
      const at = block?.(partition);
      const clock = at === undefined ? before : { ...before, block: at.number, seconds: at.timestamp };
      const here = pending.filter(({ change }) => partitionOf(change.maker, partitions) === partition);
      const makers = new Set(here.map(({ change }) => change.maker));
      await saveProjection(this.#parts.postgres, {
        partition,
        from: { nextOffset, blockParts: 0 },
        to: { nextOffset: newPos, blockParts: 0 },
        clock,
        clockMs: 0,
        forgetsEnded: false,
        makers: [...makers].map((maker) => ({
          maker,
          admission: 'ADMITTED',
          limits: {},
          nonce: null,
          nonceBlock: null,
          dueAtSeconds: null,
          listVersion: newPos,
          openOrders: 0,
          quarantinedOffset: null,
          quarantineReason: null,
          quarantineClock: null,
        })),
        funding: [],
        fundingDropped: [],
        opened: here.flatMap(({ commit }) => commit.opened ?? []),
        changed: [],
        removed: here.flatMap(({ commit }) => commit.removed ?? []),
        history: [],
        hashes: [],
        submitted: [],
        settled: [],
      });
      if (refresh) {
        const changes = here.map(({ change }) => change);
        await this.#refresher.refreshPartition({ partition, prevPos: nextOffset, newPos, changes });
      }
    }
  }
}
