import { randomBytes } from 'node:crypto';
import {
  decodeMakerEvent,
  encodeMakerEvent,
  type MakerEvent,
  type MakerFact,
  topicNames,
  topicSpecs,
} from '@makerbook/contracts-events';
import { createOrderHasher, deployArtifacts, type Order } from '@makerbook/contracts-evm';
import { type Address, type Hex, ZERO_ADDRESS } from '@makerbook/contracts-primitives';
import { type KnownFunds, type OrderStatus, orderToBody } from '@makerbook/domain';
import { type Appender, connectLog, type Following, type Log, partitionOf } from '@makerbook/kafka';
import { type AnvilPart, startAnvil, testParts, until } from '@makerbook/parts';
import { migrate } from '@makerbook/postgres';
import { readSettings } from '@makerbook/settings';
import { type Logger, silentLogger } from '@makerbook/telemetry';
import {
  Contract,
  ContractFactory,
  type InterfaceAbi,
  JsonRpcProvider,
  NonceManager,
  type TransactionResponse,
  Wallet,
} from 'ethers';
import { watcherSettings } from '../env.js';
import { runWatcher, type Watcher } from '../run.js';
import { PartitionFold } from './fold-log.js';

/** An order in the fold of the log: its status, or why it is gone. */
export type FoldedOrder = OrderStatus | { readonly status: 'REMOVED'; readonly reason: string } | undefined;

export interface StoredFact {
  readonly partition: number;
  readonly fact: MakerEvent;
  /** Headers and value, as they are in the log. */
  readonly bytes: string;
}

interface Chain {
  readonly anvil: AnvilPart;
  readonly provider: JsonRpcProvider;
  readonly deployer: NonceManager;
  readonly protocol: Address;
  readonly multicall: Address;
  readonly taker: NonceManager;
}

type Artifact = { readonly abi: InterfaceAbi; readonly bytecode: string };

const SERVICE_NAME = 'Makerbook';
const PARTITIONS = 3;
const PATIENCE_MS = 90_000;
const TAKING: Address = `0x${'77'.repeat(20)}`;

/** A real chain, a topic of its own on the real Kafka, and the domain's fold over that topic: for live tests. */
export class Stage {
  readonly anvil: AnvilPart;
  readonly provider: JsonRpcProvider;
  readonly protocolAddress: Address;
  readonly taker: NonceManager;
  readonly prefix: string;
  readonly log: Log;
  /** The rows that a watcher starts from: none, unless a test puts some there. */
  readonly databaseUrl: string;
  /** Everything that the topic holds, in the order of each partition. */
  readonly facts: StoredFact[] = [];
  readonly #chain: Chain;
  readonly #ownsChain: boolean;
  readonly #appender: Appender;
  readonly #following: Following;
  readonly #folds = Array.from({ length: PARTITIONS }, () => new PartitionFold({ routingGraceSeconds: 60 }));
  readonly #removed = new Map<Hex, string>();
  /** When each partition had a block, keyed by block number. */
  readonly #blockTimes = new Map<number, number[]>();
  #salt = 0n;
  /** Why reading the log has stopped, if it has. */
  #failure: Error | undefined;

  static async open(): Promise<Stage> {
    const anvil = await startAnvil();
    const provider = new JsonRpcProvider(anvil.rpcUrl, 8217, {
      staticNetwork: true,
      cacheTimeout: -1,
      batchMaxCount: 1,
    });
    provider.pollingInterval = 20;
    // Give the taking token code that does nothing.
    await provider.send('anvil_setCode', [TAKING, '0x00']);
    const deployer = await fund(provider);
    const protocol = await deployWith(deployer, deployArtifacts.LimitOrderProtocol, SERVICE_NAME);
    const multicall = await deployWith(deployer, deployArtifacts.Multicall3);
    return Stage.#withLog({ anvil, provider, deployer, protocol, multicall, taker: await fund(provider) }, true);
  }

  /** Another log for the same chain. */
  beside(): Promise<Stage> {
    return Stage.#withLog(this.#chain, false);
  }

  static async #withLog(chain: Chain, ownsChain: boolean): Promise<Stage> {
    const prefix = `watcher-${randomBytes(4).toString('hex')}.`;
    const brokers = testParts().kafkaBrokers.split(',');
    const log = connectLog({ brokers, clientId: 'stage', logger: silentLogger });
    await log.createTopics(
      topicSpecs(topicNames(prefix), PARTITIONS).map((spec) => ({ ...spec, replicationFactor: 1 })),
    );
    const databaseUrl = await testParts().databaseUrl();
    await migrate({ url: databaseUrl, connectTimeoutMs: PATIENCE_MS });
    return new Stage(chain, ownsChain, prefix, log, databaseUrl);
  }

  constructor(chain: Chain, ownsChain: boolean, prefix: string, log: Log, databaseUrl: string) {
    this.databaseUrl = databaseUrl;
    this.#chain = chain;
    this.#ownsChain = ownsChain;
    this.anvil = chain.anvil;
    this.provider = chain.provider;
    this.protocolAddress = chain.protocol;
    this.taker = chain.taker;
    this.prefix = prefix;
    this.log = log;
    this.#appender = log.createAppender({ timeoutMs: 30_000 });
    this.#following = log.followTopic({
      topic: topicNames(prefix).makerEvents,
      from: 'beginning',
      onFatal: (error) => {
        this.#failure = error;
      },
      onRecords: (partition, records) => {
        for (const record of records) {
          const fact = decodeMakerEvent(record);
          if ('unreadable' in fact) throw new Error(fact.unreadable);
          const bytes = `${JSON.stringify(record.headers)} ${record.key} ${record.value}`;
          this.facts.push({ partition, fact, bytes });
          if (fact.type === 'BlockProcessed') this.#noteTime(fact.block.number);
          this.#fold(partition, fact, record.offset);
        }
      },
    });
  }

  /** Creates an account with coins, as maker or taker. If a partition is given, a maker's facts are in it. */
  async createAccount(partition?: number): Promise<NonceManager> {
    const account = await fund(this.provider);
    const isElsewhere = partition !== undefined && partitionOf(addressOf(account), PARTITIONS) !== partition;
    return isElsewhere ? this.createAccount(partition) : account;
  }

  deploy(artifact: Artifact, ...args: unknown[]): Promise<Address> {
    return deployWith(this.#chain.deployer, artifact, ...args);
  }

  /** Sends a transaction and waits until it is mined. */
  async send(signer: NonceManager, address: Address, abi: InterfaceAbi, method: string, ...args: unknown[]) {
    const contract = new Contract(address, abi, signer);
    await untilMined(await contract.getFunction(method).send(...args, { gasLimit: 1_000_000 }));
  }

  /** An order of the maker, signed. */
  async sign(signer: NonceManager, terms: Partial<Order> & Pick<Order, 'making'>): Promise<SignedOrder> {
    const wallet = signer.signer as Wallet;
    this.#salt += 1n;
    const order: Order = {
      salt: this.#salt,
      nonce: 0n,
      expiresAt: 4_000_000_000n,
      taking: { token: TAKING, amount: 1n },
      maker: addressOf(signer),
      permittedTaker: ZERO_ADDRESS,
      ...terms,
    };
    const hasher = createOrderHasher({
      serviceName: SERVICE_NAME,
      chainId: 8217,
      verifyingContract: this.protocolAddress,
    });
    const orderHash = `0x${Buffer.from(hasher.hashOrder(order)).toString('hex')}` as Hex;
    return { order, orderHash, signature: wallet.signingKey.sign(orderHash).serialized as Hex };
  }

  /** Puts the order into the log, as ingress does once it has accepted it. */
  async submit({ order, orderHash, signature, byWallet }: SignedOrder): Promise<Hex> {
    const { maker } = order;
    const cause = { kind: 'request', requestId: 'stage' } as const;
    const terms = { order: orderToBody(order), signature, ...(byWallet && { byWallet }), acceptedAtMs: 0 };
    await this.put({ type: 'OrderSubmitted', maker, orderHash, ...terms, cause });
    return orderHash;
  }

  /** Puts a fact into the log. */
  async put(fact: MakerFact): Promise<void> {
    const { maker } = fact;
    const message = encodeMakerEvent(fact, { id: randomBytes(8).toString('hex'), source: '/stage', timeMs: 0 });
    const partition = partitionOf(maker, PARTITIONS);
    await this.#appender.append([{ topic: topicNames(this.prefix).makerEvents, partition, ...message, key: maker }]);
  }

  /** Settings of a watcher on this stage. */
  environment(): Record<string, string> {
    return {
      KAFKA_BROKERS: testParts().kafkaBrokers,
      PARTITIONS: String(PARTITIONS),
      TOPIC_PREFIX: this.prefix,
      DATABASE_URL: this.databaseUrl,
      OPS_PORT: '0',
      RPC_URL: this.anvil.rpcUrl,
      LIMIT_ORDER_PROTOCOL_ADDRESS: this.protocolAddress,
      MULTICALL_ADDRESS: this.#chain.multicall,
      POLL_INTERVAL_MS: '20',
      SWEEP_PAIRS_PER_SECOND: '0',
      TAKEOVER_MS: '500',
      // Blocks come when a test mines them.
      READY_LAG_SECONDS_MAX: '0',
      // Tests mine many blocks at once, each a second later than the one before.
      BLOCK_AHEAD_SECONDS_MAX: '100000',
      // Node and Kafka are fast, but the machine may be slow, and a retry would be counted.
      RPC_TIMEOUT_MS: '30000',
      KAFKA_TIMEOUT_MS: '30000',
      HALT_LINGER_MS: '0',
    };
  }

  /** Starts a watcher on this stage; settings as in the environment. */
  watch(settings: Record<string, string> = {}, logger: Logger = silentLogger): Promise<Watcher> {
    const environment = { ...this.environment(), ...settings };
    const telemetry = { logger, serveMetrics: (_: unknown, response: { end: () => void }) => response.end() };
    return runWatcher(readSettings(watcherSettings, environment), telemetry);
  }

  /** The order's current state in the fold. */
  state(orderHash: Hex): FoldedOrder {
    const order = this.#find(orderHash)?.order;
    if (order !== undefined) return order.state;
    const reason = this.#removed.get(orderHash);
    return reason === undefined ? undefined : { status: 'REMOVED', reason };
  }

  /** The funds of an open order in the fold; undefined if unknown. */
  funding(orderHash: Hex): KnownFunds | undefined {
    return this.#find(orderHash)?.funding?.known;
  }

  #find(orderHash: Hex): ReturnType<PartitionFold['find']> {
    return this.#folds.map((fold) => fold.find(orderHash)).find((known) => known !== undefined);
  }

  /** Number of the newest block that is in every partition; -1 for none. */
  processedBlock(): number {
    if (this.#failure !== undefined) throw this.#failure;
    const newest = new Array<number>(PARTITIONS).fill(-1);
    for (const { partition, fact } of this.facts) {
      if (fact.type === 'BlockProcessed') newest[partition] = Math.max(newest[partition] ?? -1, fact.block.number);
    }
    return Math.min(...newest);
  }

  /** When the block was in every partition, by `performance.now()`. @throws Error if one lacks it */
  processedAtMs(number: number): number {
    const times = this.#blockTimes.get(number) ?? [];
    if (times.length < PARTITIONS) throw new Error(`block ${number} is not in every partition`);
    return Math.max(...times);
  }

  /** Waits until the chain's newest block is in every partition. */
  async settled(): Promise<void> {
    const head = await this.provider.getBlockNumber();
    await until(`block ${head} is processed, not ${this.processedBlock()}`, () => this.processedBlock() >= head);
  }

  async mine(blocks = 1): Promise<void> {
    await this.provider.send('anvil_mine', [`0x${blocks.toString(16)}`]);
  }

  async close(): Promise<void> {
    await this.#following.stop();
    await this.log.close();
    if (!this.#ownsChain) return;
    this.provider.destroy();
    await this.anvil.stop();
  }

  #noteTime(number: number): void {
    const times = this.#blockTimes.get(number) ?? [];
    this.#blockTimes.set(number, [...times, performance.now()]);
  }

  #fold(partition: number, fact: MakerEvent, offset: bigint): void {
    for (const transition of this.#folds[partition]?.apply(fact, offset) ?? []) {
      if (transition.kind === 'OrderRemoved') this.#removed.set(transition.order.orderHash, transition.reason);
    }
  }
}

export interface SignedOrder {
  readonly order: Order;
  readonly orderHash: Hex;
  readonly signature: Hex;
  /** Set if the maker's contract accepts the signature. */
  readonly byWallet?: true;
}

/** The lowercase address of an account of the stage. */
export function addressOf(signer: NonceManager): Address {
  return (signer.signer as Wallet).address.toLowerCase() as Address;
}

async function fund(provider: JsonRpcProvider): Promise<NonceManager> {
  const wallet = new Wallet(Wallet.createRandom().privateKey, provider);
  await provider.send('anvil_setBalance', [wallet.address, '0x3635c9adc5dea00000']);
  return new NonceManager(wallet);
}

async function deployWith(deployer: NonceManager, { abi, bytecode }: Artifact, ...args: unknown[]): Promise<Address> {
  const contract = await new ContractFactory(abi, bytecode, deployer).deploy(...args);
  const sent = contract.deploymentTransaction();
  if (sent !== null) await untilMined(sent);
  return (await contract.getAddress()).toLowerCase() as Address;
}

/**
 * Resolves once the transaction is in a block, and throws if it was reverted. `wait` alone looks again only with the
 * next block. The transaction may already be in one that came meanwhile, and no other need follow.
 */
export async function untilMined(sent: TransactionResponse): Promise<void> {
  const isThere = async () => (await sent.provider.getTransactionReceipt(sent.hash)) !== null;
  await until(`transaction ${sent.hash} is mined`, isThere);
  await sent.wait();
}
