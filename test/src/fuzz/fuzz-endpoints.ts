import { type Chance, createChance } from '@makerbook/parts';
import { admitMaker } from '../kit/admit-maker.js';
import { type Asked, requestMaker, type SignedItem } from '../kit/make-requests.js';
import type { OpenStack } from '../kit/open-stack.js';
import type { Exchange } from '../kit/raw-http.js';
import { judgeExchange } from './judge-answers.js';
import { type Base, type Bases, makeBases } from './make-bases.js';
import { mutateRequest, type WireRequest } from './mutate-requests.js';
import { openWireSender } from './send-wire.js';

export interface FuzzOptions {
  /** The same seed gives the same mutations in the same order. The mutated requests are signed again in each run. */
  readonly seed: number;
  readonly requests: number;
  /** Stops early after this many seconds. */
  readonly secondsMax?: number;
  readonly onProgress?: (report: FuzzReport) => void;
}

/** A summary of the requests sent and their outcomes. */
export interface FuzzReport {
  readonly seed: number;
  readonly requests: number;
  readonly seconds: number;
  /** How often each code, status or end of a connection came, keyed by operation. */
  readonly outcomes: Readonly<Record<string, Readonly<Record<string, number>>>>;
  readonly failures: readonly string[];
}

const MAKERS = 40;
const AT_ONCE = 24;
const CLIENTS = 20_000;
const FAILURES_MAX = 20;
const PROGRESS_EVERY_MS = 10_000;

/**
 * Sends mutated requests of all operations, half of them to the gateway and half to the services themselves. Neither a
 * fault of the service nor silence may be the answer. A refusal must be a problem with a code of its operation. Ethers
 * judges what is accepted.
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
  const run = createRun(bases, senders, seed);
  try {
    const report = (): FuzzReport => {
      return { seed, ...run.counted(), seconds: (performance.now() - startedAt) / 1000 };
    };
    const timer = setInterval(() => onProgress?.(report()), PROGRESS_EVERY_MS);
    const sendsFrom = performance.now();
    const isOver = () => run.counted().requests >= requests || performance.now() - sendsFrom > secondsMax * 1000;
    await run.sendUntil(isOver).finally(() => clearInterval(timer));
    return report();
  } finally {
    senders.close();
  }
}

/** The requests of one seed, and their outcomes. */
function createRun(bases: Bases, senders: Senders, seed: number) {
  const outcomes: Record<string, Record<string, number>> = {};
  const failures: string[] = [];
  let requests = 0;

  async function sendOne(number: number): Promise<void> {
    const random = createChance(seed * 1_000_003 + number);
    const operation = random.pickAny(bases.operations) as Base;
    // Give the operation its own source of chance: how much it draws depends on the time.
    const asked = operation.make(createChance(number - seed * 1_000_003));
    const request = mutateRequest(asked, random, fieldsOf(random));
    const sender = random.oneIn(2) ? senders.gateway : senders.serviceOf(request.asked);
    const exchange = await sender.send(request, request.asked.method === 'HEAD');
    const { outcome, fault } = judge(request, exchange, operation);
    if (fault !== undefined) throw new Error(`${operation.name}: ${request.mutation}: ${fault}\n${show(request)}`);
    outcomes[operation.name] ??= {};
    const counts = outcomes[operation.name] ?? {};
    counts[outcome] = (counts[outcome] ?? 0) + 1;
    if (outcome === '200' && operation.name === 'placeOrders') notePlaced(request, exchange);
  }

  /** An order that was accepted by chance can be cancelled by chance. */
  function notePlaced({ asked, isFramed }: WireRequest, { answers }: Exchange): void {
    if (!isFramed || asked.method !== 'POST') return;
    for (const item of JSON.parse(answers[0]?.body.toString() ?? '[]') as SignedItem[]) bases.notePlaced(item);
  }

  async function sendNext(): Promise<void> {
    requests += 1;
    const number = requests;
    try {
      await sendOne(number);
    } catch (error) {
      failures.push(`--seed ${seed}, request ${number}: ${(error as Error).message}`);
    }
  }

  return {
    counted: () => ({ requests, outcomes, failures }),
    async sendUntil(isOver: () => boolean): Promise<void> {
      const work = async () => {
        while (!isOver() && failures.length < FAILURES_MAX) await sendNext();
      };
      await Promise.all(Array.from({ length: AT_ONCE }, work));
    },
  };
}

type Senders = ReturnType<typeof openSenders>;

function openSenders(stack: OpenStack) {
  const gateway = openWireSender(Number(new URL(stack.addresses.baseUrl).port));
  const senderOf = (service: string) => openWireSender(stack.portOf(service));
  const [ingress, query, feed] = [senderOf('ingress'), senderOf('query'), senderOf('feed')];
  return {
    gateway,
    serviceOf({ method, target }: Asked) {
      if (target.startsWith('/v0alpha/book/')) return feed;
      return method === 'GET' || method === 'HEAD' ? query : ingress;
    },
    close() {
      for (const sender of [gateway, ingress, query, feed]) sender.close();
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

/** The address of one of many clients. If the stack trusts a second proxy, none of them reaches its limit. */
function fieldsOf(random: Chance): Record<string, string> {
  const number = random.below(CLIENTS);
  const client = `10.7.${number >> 8}.${number & 255}`;
  return { 'X-Forwarded-For': `${client}, ${client}` };
}

function show({ bytes }: WireRequest): string {
  return `${JSON.stringify(bytes.toString('latin1', 0, 1_500))}${bytes.length > 1_500 ? ` and ${bytes.length - 1_500} bytes` : ''}`;
}
