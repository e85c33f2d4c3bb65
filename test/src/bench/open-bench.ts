import type { SigningDomain } from '@makerbook/contracts-evm';
import type { Address } from '@makerbook/contracts-primitives';
import { admitMaker } from '../kit/admit-maker.js';
import { type DrivenChain, driveChain } from '../kit/drive-chain.js';
import { type OpenStack, openStack, UNBOUNDED } from '../kit/open-stack.js';
import { readCpu, readPssMb } from '../kit/read-processes.js';
import type { Environment } from '../kit/run-services.js';
import type { PreparedRequest } from '../kit/send-requests.js';
import {
  createMakers,
  createOrderSigner,
  createRequestSigner,
  MAKING_AMOUNT,
  type MakerKey,
  type OrderToPost,
} from '../kit/sign-orders.js';

/** Makers in one command of the operator. */
const ADMITTED_AT_ONCE = 100;
/** Makers whose transactions fit into one block. */
const FUNDED_AT_ONCE = 40;

/** A whole stack for one bench alone, with its chain and a way to sign orders for it. */
export interface Bench {
  readonly stack: OpenStack;
  readonly chain: DrivenChain;
  readonly domain: SigningDomain;
  readonly token: Address;
  /** Makers on the whitelist, each with tokens and an allowance for as many orders. */
  openMakers(count: number, orders: number): Promise<MakerKey[]>;
  signOrder(maker: MakerKey): OrderToPost;
  /** The GET of the maker's list, good for one use within half a minute. */
  signList(maker: MakerKey): PreparedRequest;
  /** Like `signList`, for the maker's stream. */
  signStream(maker: MakerKey): PreparedRequest;
  /** The DELETE of orders. */
  signCancel(maker: MakerKey, ...orders: readonly OrderToPost[]): PreparedRequest;
  /** The environment of a service that runs beside those of the stack, on the same log, rows and cache. */
  readonly serviceEnvironment: Environment;
  /** The port of a service's API. */
  portOf(name: string): number;
  /** CPU of every process of the stack since its start, in microseconds, keyed by name. */
  cpu(): ReadonlyMap<string, number>;
  /** Memory of a process of the stack, in megabytes (10^6 bytes). */
  memory(name: string): number;
}

/** Lifts all bounds, because a bench measures what work costs, not when it is refused. */
const NO_LIMITS = {
  ...UNBOUNDED,
  PROJECTION_LAG_SECONDS_MAX: '86400',
  POSTGRES_TIMEOUT_MS: '25000',
  APPEND_TIMEOUT_MS: '25000',
};

/**
 * Runs a bench on its own stack. Stops the stack even if the bench fails or is stopped.
 * @param options.isBounded true for the budgets that a deployment has by default
 */
export async function withBench<T>(
  work: (bench: Bench) => Promise<T>,
  settings: Readonly<Record<string, string>> = {},
  { isBounded = false }: { readonly isBounded?: boolean } = {},
): Promise<T> {
  const stack = await openStack({ ownParts: true, settings: { ...(isBounded ? {} : NO_LIMITS), ...settings } });
  let chain: DrivenChain | undefined;
  const stop = async () => {
    chain?.stop();
    await stack.stop();
  };
  const stopEarly = () => void stop().finally(() => process.exit(1));
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, stopEarly);
  try {
    chain = await driveChain(stack.addresses.rpcUrl);
    return await work(describeBench(stack, chain));
  } finally {
    await stop();
  }
}

function describeBench(stack: OpenStack, chain: DrivenChain): Bench {
  const { addresses } = stack;
  const [token = '', otherToken = ''] = addresses.tokens.map(({ address }) => address);
  const domain: SigningDomain = {
    serviceName: addresses.serviceName,
    chainId: addresses.chainId,
    verifyingContract: addresses.limitOrderProtocol as Address,
  };
  return {
    stack,
    chain,
    domain,
    token: token as Address,
    openMakers: (count, orders) => openMakers(stack, chain, count, orders),
    signOrder: createOrderSigner(domain, token as Address, otherToken as Address),
    ...createRequestSigner(domain),
    serviceEnvironment: {
      ...stack.operatorEnvironment,
      DATABASE_URL: addresses.databaseUrl,
      REDIS_URL: addresses.redisUrl,
      SERVICE_NAME: addresses.serviceName,
      CHAIN_ID: String(addresses.chainId),
      LIMIT_ORDER_PROTOCOL_ADDRESS: addresses.limitOrderProtocol,
      NAVIGATOR_ADDRESS: addresses.navigator,
      LOG_LEVEL: 'warn',
      ...NO_LIMITS,
    },
    portOf(name) {
      const port = stack.processes().find((process) => process.name === name)?.port;
      if (port === undefined) throw new Error(`the stack runs no ${name} with a port`);
      return port;
    },
    cpu() {
      const processes = stack.processes();
      const used = readCpu(processes.map(({ pid }) => pid));
      return new Map(processes.map(({ name }, index) => [name, used[index] ?? 0]));
    },
    memory(name) {
      const process = stack.processes().find((each) => each.name === name);
      return process === undefined ? Number.NaN : readPssMb(process.pid);
    },
  };
}

async function openMakers(
  { addresses, operatorEnvironment }: OpenStack,
  chain: DrivenChain,
  count: number,
  orders: number,
): Promise<MakerKey[]> {
  const token = addresses.tokens[0]?.address ?? '';
  const makers = createMakers(count);
  for (let from = 0; from < count; from += ADMITTED_AT_ONCE) {
    const some = makers.slice(from, from + ADMITTED_AT_ONCE).map(({ address }) => address);
    await admitMaker(some, operatorEnvironment);
  }
  const amount = MAKING_AMOUNT * BigInt(orders);
  for (let from = 0; from < count; from += FUNDED_AT_ONCE) {
    let last = '';
    for (const { address } of makers.slice(from, from + FUNDED_AT_ONCE)) {
      await chain.giveGas(address);
      await chain.send(address, token, 'mint', address, amount);
      last = await chain.send(address, token, 'approve', addresses.limitOrderProtocol, amount);
    }
    await chain.mine();
    await chain.blockOf(last);
  }
  return makers;
}
