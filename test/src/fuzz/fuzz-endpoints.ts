import { setTimeout as pause } from 'node:timers/promises';
import type { BaseWallet } from 'ethers';
import { admitMaker } from '../kit/admit-maker.js';
import { type Asked, bytesOf, requestMaker, type SignedItem } from '../kit/make-requests.js';
import type { OpenStack } from '../kit/open-stack.js';
import type { Exchange } from '../kit/raw-http.js';
import { readMetrics, sumOfMetric } from '../kit/read-metrics.js';
import { readMemory } from '../kit/read-processes.js';
import { judgeExchange } from './judge-answers.js';
import { findGrowth, type MemoryReading } from './judge-memory.js';
import { type Base, type Bases, makeBases } from './make-bases.js';
import { mutateRequest, type WireRequest } from './mutate-requests.js';
import { createRandom, type Random } from './random.js';
import { openWireSender, type WireSender } from './send-wire.js';

export interface FuzzOptions {
  /** The same seed gives the same mutations in the same order; what is mutated is signed anew in each run. */
  readonly seed: number;
  /** Requests in all. */
  readonly requests: number;
  /** Fewer, where they take longer than that. */
  readonly secondsMax?: number;
  /** Called now and then. */
  readonly onProgress?: (report: FuzzReport) => void;
}

/** What was sent, and what became of it. */
export interface FuzzReport {
  readonly seed: number;
  readonly requests: number;
  readonly seconds: number;
  /** By operation: how often each code, status or end of a connection came. */
  readonly outcomes: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** Makers who posted, listed and cancelled in between, and were answered rightly. */
  readonly rounds: number;
  readonly memory: Readonly<Record<string, readonly MemoryReading[]>>;
  /** Each that should not be. */
  readonly failures: readonly string[];
}

const MAKERS = 40;
const AT_ONCE = 24;
const ROUND_EVERY = 50;
const CLIENTS = 20_000;
const FAILURES_MAX = 20;
/** Orders of mutated requests that were taken stay open until so many more were. */
const OPEN_MAX = 60;
const MEMORY_EVERY_MS = 10_000;
const RETRIES_MAX = 60;
const READ = ['gateway', 'ingress', 'query', 'projector', 'chain-watcher'];

/**
 * Sends mutated requests of all operations, half of them to the gateway and half to the services themselves, and whole rounds
 * of makers in between. A fault of the service is never an answer, nor is silence; what is refused is a problem with a code of
 * its operation; what is taken is judged by ethers.
 * @param codesOf the codes that an operation may answer, by its name
 */
export async function fuzzEndpoints(
  stack: OpenStack,
  codesOf: (operation: string) => readonly string[],
  options: FuzzOptions,
): Promise<FuzzReport> {
  const { seed, requests, secondsMax = Number.POSITIVE_INFINITY, onProgress } = options;
  const startedAt = performance.now();
  const bases = makeBases(requestMaker(stack.addresses), `${seed} ${Date.now()}`, MAKERS, codesOf);
  await admitMaker(
    bases.makers.map(({ address }) => address),
    stack.operatorEnvironment,
  );
  const senders = openSenders(stack);
  const memory = followMemory(stack);
  const run = createRun(bases, senders, seed);
  const report = (): FuzzReport => ({
    seed,
    ...run.counted(),
    seconds: (performance.now() - startedAt) / 1000,
    memory: memory.readings,
  });
  const read = async () => {
    await memory.read(run.counted().requests);
    onProgress?.(report());
  };
  try {
    await run.prepare();
    await read();
    const timer = setInterval(() => void read(), MEMORY_EVERY_MS);
    const isOver = () => run.counted().requests >= requests || report().seconds > secondsMax;
    await run.sendUntil(isOver).finally(() => clearInterval(timer));
    await read();
    return { ...report(), failures: [...run.counted().failures, ...memory.growth()] };
  } finally {
    senders.close();
  }
}

/** The requests of one seed, and what became of them. */
function createRun(bases: Bases, senders: Senders, seed: number) {
  const outcomes: Record<string, Record<string, number>> = {};
  const failures: string[] = [];
  const open: SignedItem[] = [];
  const served: Base[] = [];
  let [requests, rounds] = [0, 0];
  const good = createGoodClient(bases, senders.gateway);

  async function sendOne(number: number): Promise<void> {
    const random = createRandom(seed * 1_000_003 + number);
    const operation = served[random.below(served.length)] as Base;
    // From a source of its own: how much it draws depends on the time.
    const asked = operation.make(createRandom(number - seed * 1_000_003));
    const request = mutateRequest(asked, random, fieldsOf(random));
    const sender = random.oneIn(2) ? senders.gateway : senders.serviceOf(request.asked);
    const exchange = await sender.send(request, request.asked.method === 'HEAD');
    const { outcome, fault } = judge(request, exchange, operation);
    if (fault !== undefined) throw new Error(`${operation.name}: ${request.mutation}: ${fault}\n${show(request)}`);
    outcomes[operation.name] ??= {};
    const counts = outcomes[operation.name] ?? {};
    counts[outcome] = (counts[outcome] ?? 0) + 1;
    if (outcome === '200' && operation.name === 'placeOrders') await keepOpen(request, exchange);
  }

  /** What was taken by chance can be cancelled by chance, and is cancelled some time later. */
  async function keepOpen({ asked, isFramed }: WireRequest, { answers }: Exchange): Promise<void> {
    if (!isFramed || asked.method !== 'POST') return;
    const records = JSON.parse(answers[0]?.body.toString() ?? '[]') as SignedItem[];
    for (const item of records) bases.notePlaced(item);
    open.push(...records);
    while (open.length > OPEN_MAX) await good.cancel(open.splice(0, 1));
  }

  async function sendNext(): Promise<void> {
    requests += 1;
    const number = requests;
    try {
      if (number % ROUND_EVERY > 0) return await sendOne(number);
      await good.round(number / ROUND_EVERY);
      rounds += 1;
    } catch (error) {
      failures.push(`--seed ${seed}, request ${number}: ${(error as Error).message}`);
    }
  }

  return {
    counted: () => ({ requests, rounds, outcomes, failures }),
    /** Waits until the makers are known, and finds out what is served: it may be described before there is anything. */
    async prepare(): Promise<void> {
      await good.round(1);
      const random = createRandom(seed);
      for (const operation of bases.operations) {
        const bytes = bytesOf(operation.make(random), fieldsOf(random));
        const [answer] = (await senders.gateway.send({ bytes, isFramed: true }, false)).answers;
        if (answer?.status !== 404 && answer?.status !== 405) served.push(operation);
      }
    },
    async sendUntil(isOver: () => boolean): Promise<void> {
      const work = async () => {
        while (!isOver() && failures.length < FAILURES_MAX) await sendNext();
      };
      await Promise.all(Array.from({ length: AT_ONCE }, work));
      for (const item of open) await good.cancel([item]);
    },
  };
}

/** The memory of each process of the stack that is Makerbook's own. */
function followMemory(stack: OpenStack) {
  const readings: Record<string, MemoryReading[]> = {};
  return {
    readings,
    growth: () =>
      Object.entries(readings).flatMap(([name, each]) => {
        const growth = findGrowth(each);
        return growth === undefined ? [] : [`the memory of ${name} grew ${growth}`];
      }),
    async read(atRequest: number): Promise<void> {
      for (const { name, pid, opsPort } of stack.processes().filter((entry) => READ.includes(entry.name))) {
        const text = opsPort === undefined ? '' : await readMetrics(`http://127.0.0.1:${opsPort}`).catch(() => '');
        const { rssMb } = process.platform === 'linux' ? readMemory(pid) : { rssMb: 0 };
        const heapMb = sumOfMetric(text, 'v8js_memory_heap_used_bytes') / 1e6;
        readings[name] ??= [];
        readings[name]?.push({ atRequest, rssMb: Math.round(rssMb), heapMb: Math.round(heapMb) });
      }
    },
  };
}

type Senders = ReturnType<typeof openSenders>;

function openSenders(stack: OpenStack) {
  const portOf = (name: string) => stack.processes().find((entry) => entry.name === name)?.port ?? 0;
  const gateway = openWireSender(Number(new URL(stack.addresses.baseUrl).port));
  const [ingress, query] = [openWireSender(portOf('ingress')), openWireSender(portOf('query'))];
  return {
    gateway,
    serviceOf: ({ method }: Asked) => (method === 'GET' || method === 'HEAD' ? query : ingress),
    close() {
      for (const sender of [gateway, ingress, query]) sender.close();
    },
  };
}

/** A maker without any fault: all of what it asks for has to be answered. */
function createGoodClient(bases: Bases, gateway: WireSender) {
  const { request: make } = bases;
  const random = createRandom(Date.now());

  /** Once it is answered by a list that is not behind the log. */
  async function ask(asked: () => Asked): Promise<unknown> {
    let said = '';
    for (let tries = 0; tries < RETRIES_MAX; tries += 1) {
      const bytes = bytesOf(asked(), fieldsOf(random));
      const [answer] = (await gateway.send({ bytes, isFramed: true }, false)).answers;
      const isBehind = answer?.headers.has('x-read-lag') === true;
      if (answer?.status === 200 && !isBehind) return JSON.parse(answer.body.toString());
      said = `${answer?.status} ${answer?.body}`;
      const retryAfter = Number(answer?.headers.get('retry-after') ?? 0);
      if (retryAfter === 0 && !isBehind && !said.includes('maker_not_whitelisted')) break;
      await pause(1000 * Math.min(Math.max(retryAfter, 1), 5));
    }
    throw new Error(`a valid request was refused: ${said}`);
  }

  const cancelled = (items: readonly SignedItem[], maker: BaseWallet) =>
    ask(() => make.cancel(items, maker)) as Promise<{ orderHash: string; status: string }[]>;
  const listed = async (maker: BaseWallet) =>
    new Set(((await ask(() => make.list(maker))) as SignedItem[]).map(({ orderHash }) => orderHash));
  const makerOf = ({ order }: SignedItem) =>
    bases.makers.find(({ address }) => address.toLowerCase() === order.maker) as BaseWallet;

  return {
    /** Whatever became of it, it is gone then. */
    async cancel(items: readonly [SignedItem, ...SignedItem[]] | SignedItem[]): Promise<void> {
      const [first] = items;
      if (first !== undefined) await cancelled(items, makerOf(first));
    },
    /** Posts, lists, cancels and lists again. @throws Error with what was answered wrongly */
    async round(number: number): Promise<void> {
      const maker = bases.makers[number % bases.makers.length] as BaseWallet;
      const items = Array.from({ length: 1 + (number % 3) }, () => make.order(maker));
      const hashes = items.map(({ orderHash }) => orderHash);
      const placed = (await ask(() => make.post(items))) as { orderHash: string; status: string }[];
      const wrong = placed.find(({ orderHash, status }, at) => orderHash !== hashes[at] || status !== 'VALIDATING');
      if (wrong !== undefined || placed.length !== items.length) throw new Error(`placed: ${JSON.stringify(placed)}`);
      const before = await listed(maker);
      if (!hashes.every((hash) => before.has(hash))) throw new Error(`a list without what was placed: ${hashes}`);
      const gone = await cancelled(items, maker);
      if (
        gone.map(({ orderHash, status }) => `${orderHash} ${status}`).join() !==
        hashes.map((hash) => `${hash} CANCELLED`).join()
      )
        throw new Error(`cancelled: ${JSON.stringify(gone)}`);
      const after = await listed(maker);
      if (hashes.some((hash) => after.has(hash))) throw new Error(`a list with what was cancelled: ${hashes}`);
    },
  };
}

function judge(request: WireRequest, exchange: Exchange, operation: Base) {
  try {
    return judgeExchange(request, exchange, operation);
  } catch (error) {
    return { outcome: 'fault', fault: `the answer cannot be judged: ${(error as Error).stack}` };
  }
}

/** Each of many clients: where the stack trusts a second proxy, none of them reaches its limit. */
function fieldsOf(random: Random): Record<string, string> {
  const number = random.below(CLIENTS);
  const client = `10.7.${number >> 8}.${number & 255}`;
  return { 'X-Forwarded-For': `${client}, ${client}` };
}

function show({ bytes }: WireRequest): string {
  return `${JSON.stringify(bytes.toString('latin1', 0, 1_500))}${bytes.length > 1_500 ? ` and ${bytes.length - 1_500} bytes` : ''}`;
}
