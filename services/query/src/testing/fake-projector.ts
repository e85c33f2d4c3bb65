import { randomBytes } from 'node:crypto';
import { encodeMakersRecord, type TopicNames } from '@makerbook/contracts-events';
import { createOrderHasher } from '@makerbook/contracts-evm';
import { type Hex, ZERO_ADDRESS } from '@makerbook/contracts-primitives';
import { type Order, type OrderStatus, recordStart } from '@makerbook/domain';
import { type Appender, partitionOf } from '@makerbook/kafka';
import {
  byteaOf,
  openProjectionStore,
  type Postgres,
  type ProjectionCommit,
  takeProjection,
} from '@makerbook/postgres';
import type { HDNodeWallet } from 'ethers';

export const domain = {
  serviceName: 'Test',
  chainId: 8217,
  verifyingContract: `0x${'12'.repeat(20)}`,
} as const;
export const partitions = 2;
const expiresAt = 4_000_000_000n;

interface FakeProjectorParts {
  readonly appender: Appender;
  readonly topics: TopicNames;
  readonly postgres: Postgres;
}

/** The newest block of a partition; undefined: the one that it had. */
type BlockOf = (partition: number) => { readonly number: number; readonly timestamp: number } | undefined;

/** An order that was answered. */
export interface Placed {
  readonly maker: Hex;
  readonly orderHash: Hex;
  readonly order: Order;
}

/** The facts that `project` will fold. */
interface Fact {
  readonly maker: Hex;
  readonly orderHash: Hex;
  readonly offset: bigint;
  readonly commit: Partial<ProjectionCommit>;
}

const UNTIL_MS = 4_000_000_000_000;

/**
 * Ingress and the projector played by hand: a placement and a cancellation are in flight until `project` folds them. No
 * log is between them: an offset is the next number.
 */
export class FakeProjector {
  readonly #parts: FakeProjectorParts;
  readonly #hasher = createOrderHasher(domain);
  /** Oldest first. */
  #unprojected: Fact[] = [];
  #offset = 1n;

  constructor(parts: FakeProjectorParts) {
    this.#parts = parts;
  }

  async admit(maker: Hex): Promise<void> {
    const position = { partition: partitionOf(maker, partitions), offset: '0' };
    const message = encodeMakersRecord(
      { type: 'MakerView', maker, admission: 'ADMITTED', nonce: null, position },
      { id: '1', source: '/test', timeMs: 0 },
    );
    await this.#parts.appender.append([
      { topic: this.#parts.topics.makers, partition: position.partition, ...message, key: maker },
    ]);
  }

  async place(
    wallet: HDNodeWallet,
    { count = 1, state = { status: 'VALIDATING' } as OrderStatus } = {},
  ): Promise<Placed[]> {
    const maker = wallet.address.toLowerCase() as Hex;
    const placed: Placed[] = [];
    for (let index = 0; index < count; index += 1) {
      const order: Order = {
        salt: BigInt(`0x${randomBytes(32).toString('hex')}`),
        nonce: 0n,
        expiresAt,
        making: { token: `0x${'aa'.repeat(20)}`, amount: 10n ** 18n },
        taking: { token: `0x${'bb'.repeat(20)}`, amount: 2n * 10n ** 18n },
        maker,
        permittedTaker: ZERO_ADDRESS,
      };
      const orderHash: Hex = `0x${Buffer.from(this.#hasher.hashOrder(order)).toString('hex')}`;
      placed.push({ maker, orderHash, order });
      await this.#parts.postgres.query(
        `insert into in_flight (order_hash, maker, partition, salt, expires_at_seconds, until_ms)
         values ($1, $2, $3, '0x1', $4, $5)`,
        [byteaOf(orderHash), byteaOf(maker), partitionOf(maker, partitions), expiresAt, UNTIL_MS],
      );
      const offset = this.#offset++;
      const opened = {
        ...state,
        orderHash,
        maker,
        remaining: String(order.making.amount),
        reason: state.status === 'INACTIVE' ? state.reason : null,
        inBook: true,
        cappedUntil: 0,
        acceptedOffset: offset,
        acceptedAtMs: 1,
        expiresAtSeconds: Number(expiresAt),
        makingToken: order.making.token,
        makingAmount: String(order.making.amount),
        isObserved: state.status !== 'VALIDATING',
        walletSignature: null,
        recordStart: recordStart({ order, orderHash, signature: `0x${'5a'.repeat(65)}` }),
      };
      this.#unprojected.push({ maker, orderHash, offset, commit: { opened: [opened] } });
    }
    return placed;
  }

  async cancel({ maker, orderHash }: Placed): Promise<void> {
    await this.#parts.postgres.query(
      'insert into cancelling (maker, order_hash, partition, until_ms) values ($1, $2, $3, $4)',
      [byteaOf(maker), byteaOf(orderHash), partitionOf(maker, partitions), UNTIL_MS],
    );
    this.#unprojected.push({ maker, orderHash, offset: this.#offset++, commit: { removed: [orderHash] } });
  }

  /** Folds what was placed and cancelled; and a block, where one is given. */
  async project({ block }: { block?: BlockOf } = {}): Promise<void> {
    const facts = this.#unprojected.splice(0);
    for (let partition = 0; partition < partitions; partition += 1) {
      const here = facts.filter(({ maker }) => partitionOf(maker, partitions) === partition);
      await this.#fold(partition, here, block?.(partition));
    }
  }

  async #fold(partition: number, facts: readonly Fact[], block: ReturnType<BlockOf>): Promise<void> {
    const { nextOffset, clock: before, book } = (await takeProjection(this.#parts.postgres, partition)).projection;
    const clock = block === undefined ? before : { ...before, block: block.number, seconds: block.timestamp };
    const makers = new Set(facts.map(({ maker }) => maker));
    await openProjectionStore(this.#parts.postgres, 1).saveProjection({
      partition,
      from: { nextOffset, blockParts: 0 },
      to: { nextOffset: (facts.at(-1)?.offset ?? nextOffset) + 1n, blockParts: 0, clock, clockMs: 0, book },
      forgetsEnded: false,
      makers: [...makers].map((maker) => ({
        maker,
        admission: 'ADMITTED',
        limits: {},
        exits: {},
        nonce: null,
        nonceBlock: null,
        dueAtSeconds: null,
        listVersion: facts.findLast((fact) => fact.maker === maker)?.offset ?? 0n,
        openOrders: 0,
        quarantinedOffset: null,
        quarantineReason: null,
        quarantineClock: null,
      })),
      funding: [],
      fundingDropped: [],
      opened: facts.flatMap(({ commit }) => commit.opened ?? []),
      changed: [],
      removed: facts.flatMap(({ commit }) => commit.removed ?? []),
      history: facts.map(({ maker, orderHash, offset, commit }) => ({
        maker,
        orderHash,
        logOffset: offset,
        happened: commit.opened ? 'OPENED' : 'REMOVED',
        status: commit.opened?.[0]?.status ?? 'ACTIVE',
        reason: commit.opened ? (commit.opened[0]?.reason ?? null) : 'CANCELLED',
        remaining: '1',
        cappedUntil: 0,
      })),
      fills: [],
      hashes: [],
      submitted: facts.flatMap(({ maker, orderHash, commit }) => (commit.opened ? { maker, orderHash } : [])),
      settled: facts.flatMap(({ maker, orderHash, commit }) => (commit.opened ? [] : { maker, orderHash })),
    });
  }
}
